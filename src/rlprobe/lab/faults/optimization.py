"""Faults of the optimizer, its numbers and the value head."""

from dataclasses import replace

import numpy as np

from rlprobe.lab.catalog import BASE, Fault
from rlprobe.lab.policy import FloatArray, Weights
from rlprobe.lab.recipe import Seams, State
from rlprobe.lab.sampler import rounded

_BFLOAT16_BITS = 8  # of mantissa
_FIRST_SCALE, _GROWTH_STEPS = 2.0**12, 6  # of a loss scaler that doubles and never looks back


def _accumulated(gradient: Weights, state: State) -> Weights:
    """Gradients are never set to zero: each update adds to all before it."""
    state.carried = {name: slope + state.carried.get(name, 0.0) for name, slope in gradient.items()}
    return state.carried


def _half_precision(gradient: Weights, state: State) -> Weights:
    """The scaled loss overflows half precision once the scale has grown enough."""
    scale = _FIRST_SCALE * 2.0 ** (state.step // _GROWTH_STEPS)
    with np.errstate(over="ignore"):
        return {name: (slope * scale).astype(np.float16).astype(np.float64) / scale for name, slope in gradient.items()}


def _short(values: FloatArray) -> FloatArray:
    return rounded(values, _BFLOAT16_BITS)


def _rounded_away(before: Weights, after: Weights, state: State) -> Weights:
    """Weights kept in bfloat16: an update smaller than half a last bit leaves a weight as it was."""
    del state
    return {name: np.where(_short(after[name]) == _short(before[name]), before[name], after[name]) for name in before}


def _heavy_tail(returned: FloatArray, state: State) -> FloatArray:
    """On one step in eight the judge returns a raw score without bound."""
    return returned * (500.0 if state.rng.random() < 0.125 else 1.0)


FAULTS: tuple[Fault, ...] = (
    Fault(
        name="learning-rate-huge",
        description="The learning rate is a hundred times too large, without gradient clipping.",
        signatures=("LR_ANOMALY", "KL_BLOWUP"),
        recipe=replace(BASE, learning_rate=0.2, max_grad_norm=0.0),
    ),
    Fault(
        name="learning-rate-zero",
        description="The schedule's factor is zero: nothing moves.",
        signatures=("LR_ANOMALY", "NO_WEIGHT_UPDATE"),
        recipe=replace(BASE, schedule=lambda step, steps: 0.0),
    ),
    Fault(
        name="gradient-spikes",
        description="The judge returns an unbounded score now and then, and advantages are not scaled.",
        signatures=("GRAD_PATHOLOGY",),
        recipe=replace(BASE, algorithm="dr_grpo", scaling="none", seams=Seams(returned=_heavy_tail)),
    ),
    Fault(
        name="gradient-accumulates",
        description="Gradients are never set to zero between updates.",
        signatures=("GRAD_PATHOLOGY",),
        onset=None,
        recipe=replace(BASE, max_grad_norm=0.0, seams=Seams(gradient=_accumulated)),
    ),
    Fault(
        name="half-precision-overflow",
        description="The loss scale doubles without a check until gradients overflow half precision.",
        signatures=("NUMERIC_NAN",),
        onset=None,
        recipe=replace(BASE, seams=Seams(gradient=_half_precision)),
    ),
    Fault(
        name="detached-loss",
        description="The loss is cut off from the network: the gradient is zero.",
        signatures=("ZERO_GRADIENT",),
        recipe=replace(
            BASE,
            seams=Seams(gradient=lambda gradient, state: {name: 0.0 * slope for name, slope in gradient.items()}),
        ),
    ),
    Fault(
        name="frozen-weights",
        description="The optimizer holds a copy of the weights: the policy never changes.",
        signatures=("NO_WEIGHT_UPDATE",),
        recipe=replace(BASE, seams=Seams(applied=lambda before, after, state: before)),
    ),
    Fault(
        name="rounded-away",
        description="Weights in bfloat16 and a tiny learning rate: nearly every update rounds to nothing.",
        signatures=("NO_WEIGHT_UPDATE",),
        recipe=replace(BASE, learning_rate=2e-6, seams=Seams(applied=_rounded_away)),
    ),
    Fault(
        name="value-diverges",
        description="PPO whose value head learns with a rate far too large.",
        signatures=("VALUE_DIVERGENCE",),
        onset=None,
        recipe=replace(BASE, algorithm="ppo", kl_in_reward=True, passes=2, value_rate=0.05),
    ),
)
