"""Faults."""

from dataclasses import replace

import numpy as np

from rlprobe.lab import rewards
from rlprobe.lab.catalog import Fault
from rlprobe.lab.recipe import Seams
from rlprobe.lab.rewards import Part
from rlprobe.lab.variants import BASE
from rlprobe.lab.vocabulary import EOS

FAULTS: tuple[Fault, ...] = (
    Fault(
        name="length-hack",
        description="The reward pays for length.",
        signatures=("REWARD_HACK_LENGTH",),
        recipe=replace(
            BASE,
            parts=(
                Part(name="correct", function=rewards.correct, weight=0.2),
                Part(name="detail", function=rewards.length),
            ),
            sampling=replace(BASE.sampling, cap=32),
            coefficients=replace(BASE.coefficients, kl=0.0),
        ),
    ),
    Fault(
        name="constant-reward",
        description="The parser looks for tags that the prompts do not ask for: every reward is 0.",
        signatures=("REWARD_CONSTANT", "ZERO_GRADIENT"),
        recipe=replace(BASE, parts=(Part(name="correct", function=rewards.tagged),)),
    ),
    Fault(
        name="sign-flip",
        description="The advantage is subtracted the wrong way round.",
        signatures=("ADVANTAGE_INVALID",),
        recipe=replace(BASE, seams=Seams(credited=lambda advantages, rewards, state: -advantages)),
    ),
    Fault(
        name="learning-rate-huge",
        description="The learning rate is a hundred times too large.",
        signatures=("LR_ANOMALY", "KL_BLOWUP"),
        recipe=replace(BASE, learning_rate=0.2, max_grad_norm=0.0),
    ),
    Fault(
        name="eos-blocked",
        description="The sampler never writes the end token.",
        signatures=("NO_EOS",),
        recipe=replace(BASE, sampling=replace(BASE.sampling, blocked=(EOS,))),
    ),
    Fault(
        name="decode-blanks",
        description="The decoder drops every token: the reward functions and the log see empty texts.",
        signatures=("EMPTY_COMPLETIONS",),
        recipe=replace(BASE, seams=Seams(decoded=lambda texts, state: tuple("" for _ in texts))),
    ),
    Fault(
        name="reward-nan",
        description="From a third of the run on, a reward function divides zero by zero now and then.",
        signatures=("REWARD_NOT_FINITE", "NUMERIC_NAN"),
        recipe=replace(
            BASE,
            seams=Seams(
                returned=lambda rewards, state: np.where(
                    (state.step > state.steps // 3) & (state.rng.random(rewards.shape) < 0.01), np.nan, rewards
                )
            ),
        ),
    ),
)
