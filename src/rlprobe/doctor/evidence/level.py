"""The level arm: has a metric settled beyond a level? A betting e-process over exceedances."""

from dataclasses import dataclass
from functools import cache
from math import log1p

import numpy as np

from rlprobe.recording.run import BoolArray, FloatArray

NULL_RATE = 0.1  # fraction of healthy rows that the null allows beyond the level
STAKE = 3.0  # bet on an exceedance; 1.31 nats a row when every row exceeds, -0.36 nats when none does
SPAN = 64  # bets that are summed as plain numbers
LARGEST = 11.0  # natural-log size of one bet: SPAN of them stay within the range of floats
_WON, _LOST = log1p(STAKE * (1.0 - NULL_RATE)), log1p(-STAKE * NULL_RATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelState:
    """Observations bet on so far, the natural-log e-value after them, and whether any of them exceeded."""

    count: int
    log_evidence: float
    exceeded: bool = False

    @classmethod
    def start(cls) -> "LevelState":
        """Before any observation."""
        return cls(count=0, log_evidence=-np.inf)


def level_evidence(exceeds: BoolArray, state: LevelState) -> tuple[FloatArray, LevelState]:
    """Log e-values for "more than NULL_RATE of the rows lie beyond the level", valid however often one looks.

    Null: P(exceeds | past) <= NULL_RATE at every row. The weighted Shiryaev-Roberts sum
    M_t = (M_(t-1) + w_t) e_t with e_t = 1 + STAKE (Z_t - NULL_RATE) and weights that sum to at most one is dominated by
    an e-process, so P(ever M_t >= 1/alpha) <= alpha (Ville).

    Args:
        exceeds: (n,) whether each observation lies beyond the level, oldest first; n may be 0.
        state: from LevelState.start() or from the previous chunk.

    Returns:
        (n,) natural-log e-values after each observation, and the state for the next chunk.

    Source: Shin, Ramdas and Rinaldo 2023, E-detectors (weighted form); slow twin in tests/reference/level.py.
    """
    if len(exceeds) == 0:
        return np.empty(0), state
    quiet = 0  # observations of this chunk before the run's first exceedance: what they are worth is known beforehand
    if not state.exceeded:
        quiet = int(np.argmax(exceeds)) if exceeds.any() else len(exceeds)
    stop = state.count + quiet
    evidence = np.empty(len(exceeds))
    if quiet:
        evidence[:quiet] = _quiet(1 << stop.bit_length())[state.count : stop]
    if quiet < len(exceeds):
        before = evidence[quiet - 1] if quiet else state.log_evidence
        evidence[quiet:] = weighted_sum(np.where(exceeds[quiet:], _WON, _LOST), float(before), stop)
    count, exceeded = state.count + len(exceeds), quiet < len(exceeds) or state.exceeded
    return evidence, LevelState(count=count, log_evidence=float(evidence[-1]), exceeded=exceeded)


@cache
def _quiet(size: int) -> FloatArray:
    """The evidence after each of `size` observations of which none exceeds."""
    evidence = weighted_sum(np.full(size, _LOST), -np.inf, 0)
    evidence.setflags(write=False)
    return evidence


def weighted_sum(gain: FloatArray, log_before: float, count: int) -> FloatArray:
    """Log of the weighted Shiryaev-Roberts sum M_t = (M_(t-1) + w_t) exp(gain_t).

    Within a block of SPAN bets the sum is made of plain numbers, which no sum of LARGEST can overflow; from block to
    block it is carried as a logarithm.

    Args:
        gain: (n,) natural-log bets of at most LARGEST each in size, oldest first, n >= 1.
        log_before: log M before the first of them (-inf at the start).
        count: how many bets came before.

    Returns:
        (n,) log M_t. Weights w_k = 0.7 / ((k + 1) ln^2(k + 1.72)), k = 1, 2, ..., sum to at most one.
    """
    span = min(SPAN, len(gain))
    blocks = -(-len(gain) // span)
    table = _weights(1 << (count + blocks * span).bit_length())
    weight = table[count : count + blocks * span].reshape(blocks, span)
    bets = np.zeros(blocks * span)
    bets[: len(gain)] = gain
    total = np.cumsum(bets.reshape(blocks, span), axis=1)
    added = weight.copy()  # each weight over what the block had grown to before it
    added[:, 1:] /= np.exp(total)[:, :-1]
    np.cumsum(added, axis=1, out=added)
    ends = np.cumsum(total[:, -1])
    carried = np.logaddexp.accumulate(
        np.concatenate([[log_before], total[:, -1] + np.log(added[:, -1]) - ends])[:blocks]
    )
    carried[1:] += ends[:-1]
    scale = np.maximum(carried, 0.0)[:, None]
    added *= np.exp(-scale)
    added += np.exp(carried[:, None] - scale)
    total += scale
    total += np.log(added, out=added)
    return np.asarray(total.ravel()[: len(gain)], dtype=np.float64)


@cache
def _weights(size: int) -> FloatArray:
    """The first `size` weights."""
    index = np.arange(1, size + 1, dtype=np.float64)
    weights: FloatArray = 0.7 / ((index + 1.0) * np.log(index + 1.72) ** 2)
    weights.setflags(write=False)
    return weights
