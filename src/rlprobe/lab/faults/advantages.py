"""Faults between the rewards and the loss: grouping, scaling, sign."""

from dataclasses import replace

import numpy as np

from rlprobe.lab import advantages, rewards
from rlprobe.lab.catalog import BASE, Fault
from rlprobe.lab.policy import FloatArray
from rlprobe.lab.recipe import Seams, State
from rlprobe.lab.rewards import Part
from rlprobe.lab.tasks import Task

_CORRECT = Part(name="correct", function=rewards.correct)


def _spread(totals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Centred rewards and the deviation within their groups of the base recipe's size."""
    groups = np.arange(len(totals)) // BASE.group_size
    return totals - advantages.group_means(totals, groups), advantages.group_deviations(totals, groups)


def _drowned(given: FloatArray, totals: FloatArray, state: State) -> FloatArray:
    """Divided by deviation + 100: an epsilon with the wrong exponent."""
    del given, state
    centred, deviation = _spread(totals)
    return centred / (deviation + 100.0)


def _by_variance(given: FloatArray, totals: FloatArray, state: State) -> FloatArray:
    """Divided by the variance instead of the deviation."""
    del given, state
    centred, deviation = _spread(totals)
    return centred / (deviation**2 + 1e-4)


FAULTS: tuple[Fault, ...] = (
    Fault(
        name="sign-flip",
        description="The advantage is subtracted the wrong way round.",
        signatures=("ADVANTAGE_INVALID",),
        recipe=replace(BASE, seams=Seams(credited=lambda given, totals, state: -given)),
    ),
    Fault(
        name="mixed-groups",
        description="The batch is folded along the wrong axis: a group holds one sample of every prompt.",
        signatures=("GROUPING_BUG",),
        recipe=replace(BASE, seams=Seams(grouping=lambda groups, state: np.arange(len(groups)) % BASE.prompts)),
    ),
    Fault(
        name="drowned-advantages",
        description="The constant that guards the division is 100: advantages are near zero.",
        signatures=("ADV_COLLAPSE",),
        recipe=replace(BASE, seams=Seams(credited=_drowned)),
    ),
    Fault(
        name="variance-division",
        description="Advantages are divided by the variance: they leave every bound of a standardised group.",
        signatures=("ADVANTAGE_INVALID",),
        recipe=replace(
            BASE,
            parts=(
                _CORRECT,
                Part(name="format", function=rewards.formatted, weight=0.05),
            ),
            seams=Seams(credited=_by_variance),
        ),
    ),
    Fault(
        name="length-bias",
        description="Each sample's loss is averaged over its tokens: on unsolvable prompts, the longer the cheaper.",
        signatures=("LENGTH_BIAS",),
        onset=None,
        recipe=replace(
            BASE,
            algorithm="reinforce",
            task=Task(operations="=+", taught="=+", wrong=0.3),
            parts=(_CORRECT,),
            loss_scale="sequence",
            sampling=replace(BASE.sampling, cap=32),
            coefficients=replace(BASE.coefficients, kl=0.0),
        ),
    ),
    Fault(
        name="group-of-one",
        description="One sample a prompt with a group-relative advantage: every advantage is zero.",
        signatures=("CONFIG_MISUSE", "ADV_COLLAPSE", "ZERO_GRADIENT"),
        recipe=replace(BASE, prompts=64, group_size=1, coefficients=replace(BASE.coefficients, kl=0.0)),
    ),
)
