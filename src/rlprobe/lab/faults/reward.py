"""Faults of the reward: what is paid, and what the reward functions are handed."""

from dataclasses import replace

import numpy as np

from rlprobe.lab import rewards
from rlprobe.lab.catalog import BASE, Fault
from rlprobe.lab.optimizer import warm_up
from rlprobe.lab.policy import FloatArray
from rlprobe.lab.recipe import Seams, State
from rlprobe.lab.rewards import Part
from rlprobe.lab.tasks import Task

_CORRECT = Part(name="correct", function=rewards.correct)
_FREE = replace(BASE.coefficients, kl=0.0)


def _some_nan(returned: FloatArray, state: State) -> FloatArray:
    """Now and then a reward function divides zero by zero, from a third of the run on."""
    broken = (state.step > state.steps // 3) & (state.rng.random(returned.shape) < 0.005)
    return np.where(broken, np.nan, returned)


def _restart(step: int, steps: int) -> float:
    """Warm-up, then a schedule that starts again with another peak."""
    return warm_up(step, steps) if step <= 0.7 * steps else 60.0


FAULTS: tuple[Fault, ...] = (
    Fault(
        name="length-hack",
        description="The reward pays for length, and a little for being right.",
        signatures=("REWARD_HACK_LENGTH",),
        onset=None,
        recipe=replace(
            BASE,
            parts=(replace(_CORRECT, weight=0.2), Part(name="detail", function=rewards.length)),
            sampling=replace(BASE.sampling, cap=32),
            coefficients=_FREE,
        ),
    ),
    Fault(
        name="format-gaming",
        description="An easy format reward drowns a correctness reward: it saturates, and right answers stay rare.",
        signatures=("FORMAT_GAMING",),
        onset=None,
        recipe=replace(
            BASE,
            algorithm="dr_grpo",
            scaling="none",
            task=Task(operations="~", taught="=", wrong=0.2, malformed=0.6),
            parts=(replace(_CORRECT, weight=0.03), Part(name="format", function=rewards.formatted)),
            coefficients=replace(BASE.coefficients, kl=0.05),
            learning_rate=1e-3,
        ),
    ),
    Fault(
        name="format-traded",
        description="The format check wants round numbers and pays more than a right answer: answers are traded away.",
        signatures=("FORMAT_GAMING",),
        onset=None,
        recipe=replace(
            BASE,
            task=Task(wrong=0.3),
            parts=(replace(_CORRECT, weight=0.4), Part(name="format", function=rewards.rounded, weight=1.0)),
            coefficients=replace(BASE.coefficients, kl=0.02),
            learning_rate=1e-3,
        ),
    ),
    Fault(
        name="constant-reward",
        description="The parser looks for tags that no prompt asks for: every reward is 0.",
        signatures=("REWARD_CONSTANT", "ZERO_GRADIENT"),
        recipe=replace(BASE, parts=(replace(_CORRECT, function=rewards.tagged),)),
    ),
    Fault(
        name="dead-component",
        description="One of two reward functions looks for tags that no prompt asks for.",
        signatures=("REWARD_COMPONENT_DEAD",),
        recipe=replace(BASE, parts=(_CORRECT, Part(name="tags", function=rewards.tagged, weight=0.5))),
    ),
    Fault(
        name="wrong-text",
        description="The reward functions receive each sample's neighbour.",
        signatures=("REWARD_TEXT_MISMATCH",),
        recipe=replace(BASE, seams=Seams(handed=lambda texts, state: (*texts[1:], texts[0]))),
    ),
    Fault(
        name="end-token-kept",
        description="The reward functions receive the text with its end token, so that no answer matches.",
        signatures=("REWARD_TEXT_MISMATCH", "REWARD_CONSTANT"),
        recipe=replace(BASE, seams=Seams(handed=lambda texts, state: tuple(text + "<|end|>" for text in texts))),
    ),
    Fault(
        name="reward-nan",
        description="A reward function now and then returns NaN, which reaches the loss.",
        signatures=("REWARD_NOT_FINITE", "NUMERIC_NAN"),
        onset=1 / 3,
        recipe=replace(BASE, seams=Seams(returned=_some_nan)),
    ),
    Fault(
        name="reward-nan-skipped",
        description="A reward function now and then returns NaN; the trainer skips those updates.",
        signatures=("REWARD_NOT_FINITE",),
        onset=1 / 3,
        recipe=replace(BASE, skip_nonfinite=True, seams=Seams(returned=_some_nan)),
    ),
    Fault(
        name="judge-swapped",
        description="From 60 % of the run on another judge scores on another scale.",
        signatures=("REWARD_SCALE_SHIFT",),
        onset=0.6,
        recipe=replace(
            BASE,
            seams=Seams(
                returned=lambda returned, state: returned if state.step <= 0.6 * state.steps else 4.0 * returned + 1.0
            ),
        ),
    ),
    Fault(
        name="late-restart",
        description="At 70 % of the run the learning-rate schedule starts again, far higher.",
        signatures=("LR_ANOMALY", "REWARD_COLLAPSE"),
        onset=0.7,
        recipe=replace(BASE, schedule=_restart, max_grad_norm=0.0),
    ),
    Fault(
        name="markup-filter",
        description="A filter charges every bracket more than a right answer earns: the answers lose their format.",
        signatures=("FORMAT_LOSS",),
        onset=None,
        recipe=replace(
            BASE,
            parts=(
                _CORRECT,
                Part(name="format", function=rewards.formatted, weight=0.2),
                Part(name="filter", function=rewards.unmarked),
            ),
            coefficients=_FREE,
        ),
    ),
    Fault(
        name="stop-string",
        description="At half of the run a new sampler cuts the stop string off: right answers lack their last bracket.",
        signatures=("REWARD_COLLAPSE", "FORMAT_LOSS"),
        onset=0.5,
        recipe=replace(
            BASE,
            seams=Seams(
                decoded=lambda texts, state: (
                    texts if state.step <= 0.5 * state.steps else tuple(text.split(">")[0] for text in texts)
                )
            ),
        ),
    ),
    Fault(
        name="proxy-overoptimised",
        description="A learned judge likes the right digits and, without bound, a certain letter.",
        signatures=("REWARD_OVEROPTIMIZATION",),
        onset=None,
        recipe=replace(
            BASE,
            parts=(Part(name="judge", function=lambda a, t: rewards.partial(a, t) + 0.4 * rewards.confident(a, t)),),
            coefficients=_FREE,
            log_truth=True,
            learning_rate=1e-3,
        ),
    ),
    Fault(
        name="judge-saturated",
        description="The judge's score is capped at what one right digit earns: the spread dies without mastery.",
        signatures=("REWARD_STD_DEATH", "DEGENERATE_GROUPS"),
        onset=None,
        recipe=replace(
            BASE,
            task=Task(wrong=0.9, malformed=0.4),
            parts=(Part(name="judge", function=lambda a, t: min(rewards.partial(a, t), 0.33)),),
        ),
    ),
    Fault(
        name="random-judge",
        description="The judge's score has nothing to do with the text.",
        signatures=("NO_LEARNING",),
        recipe=replace(BASE, seams=Seams(returned=lambda returned, state: state.rng.random(returned.shape))),
    ),
    Fault(
        name="too-hard",
        description="The prompts ask for what the base policy was never shown: nearly every group is all wrong.",
        signatures=("DEGENERATE_GROUPS", "NO_LEARNING"),
        recipe=replace(BASE, task=Task(operations="~", taught="=", wrong=0.1), parts=(_CORRECT,), learning_rate=2e-4),
    ),
    Fault(
        name="memorised",
        description="Sixteen prompts, over and over, without a reference: they are learned by heart.",
        signatures=("EVAL_GAP",),
        onset=None,
        recipe=replace(
            BASE, task=Task(training=16), parts=(_CORRECT,), coefficients=_FREE, passes=4, learning_rate=3e-3
        ),
    ),
)
