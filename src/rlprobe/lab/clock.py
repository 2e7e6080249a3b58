"""Modelled time and memory: a step costs what its work costs, on a machine that is a little noisy.

Real seconds would differ from run to run, and a recording must not. So work is counted (tokens drawn, tokens passed
through the network) and priced like a small language model on one accelerator; extra work costs extra in the same coin.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rlprobe.lab.policy import FloatArray, Generator

_PER_DRAWN_POSITION = 0.030  # seconds for one position of the longest completion, all samples together
_PER_TOKEN = 0.0004  # seconds a token passed through the network, forward and backward
_PER_SAMPLE = 0.002  # seconds for the reward functions of one sample
_OPTIMIZER = 0.05  # seconds an update
_NOISE = 0.04  # relative standard deviation of every phase
_WEIGHTS_BYTES = 6.0e9  # weights, gradients, moments
_TOKEN_BYTES = 2.0e6  # activations a token
_HELD_SCALE = 4096  # an array of the lab stands for one of a model so many times larger


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a step did: longest completion, tokens, samples, updates, extra seconds,
    data-parallel ranks and how many times slower the slowest of them is."""

    positions: int
    tokens: int
    samples: int
    updates: int
    overhead: float
    straggler: float
    ranks: int


def priced(work: Work, held: Sequence[FloatArray], rng: Generator) -> dict[str, float]:
    """Seconds of each phase and bytes of memory, under canonical names."""
    noise = 1.0 + _NOISE * rng.standard_normal(5)
    generation = (work.positions * _PER_DRAWN_POSITION + work.overhead) * noise[0]
    reward = work.samples * _PER_SAMPLE * noise[1]
    forward = work.tokens * work.updates * _PER_TOKEN * noise[2]
    optimizer = work.updates * _OPTIMIZER * noise[3]
    ranks = (generation + reward + forward + optimizer) * (1.0 + _NOISE / 2 * np.abs(rng.standard_normal(work.ranks)))
    ranks[-1] *= work.straggler
    total = float(ranks.max())
    held_bytes = _HELD_SCALE * sum(array.nbytes for array in held)
    row = {
        "step_seconds": total,
        "generation_seconds": generation,
        "reward_seconds": reward,
        "rollout_seconds": generation + reward,
        "forward_seconds": forward,
        "optimizer_seconds": optimizer,
        "tokens_per_second": work.tokens / total,
        "memory_bytes": float(np.round(_WEIGHTS_BYTES + work.tokens * _TOKEN_BYTES + held_bytes)),
        "host_memory_bytes": float(np.round(_WEIGHTS_BYTES * (1.0 + 0.002 * abs(noise[4] - 1.0)))),
    }
    if work.ranks > 1:
        row |= {"rank_step_seconds_max": total, "rank_step_seconds_median": float(np.median(ranks))}
    return row
