"""The level arm: has a metric settled beyond a level? A betting e-process over exceedances."""

from dataclasses import dataclass

import numpy as np

from rlprobe.recording.run import BoolArray, FloatArray

NULL_RATE = 0.1  # fraction of healthy rows that the null allows beyond the level
STAKE = 3.0  # bet on an exceedance; 1.31 nats a row when every row exceeds, -0.36 nats when none does


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelState:
    """Observations bet on so far and the natural-log e-value after them."""

    count: int
    log_evidence: float

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
    gain = np.log1p(STAKE * (exceeds.astype(np.float64) - NULL_RATE))
    evidence = weighted_sum(gain, state.log_evidence, state.count)
    return evidence, LevelState(count=state.count + len(exceeds), log_evidence=float(evidence[-1]))


def weighted_sum(gain: FloatArray, log_before: float, count: int) -> FloatArray:
    """Log of the weighted Shiryaev-Roberts sum M_t = (M_(t-1) + w_t) exp(gain_t), as one scan.

    Args:
        gain: (n,) natural-log bets, oldest first, n >= 1.
        log_before: log M before the first of them (-inf at the start).
        count: how many bets came before.

    Returns:
        (n,) log M_t. Weights w_k = 0.7 / ((k + 1) ln^2(k + 1.72)), k = 1, 2, ..., sum to at most one.
    """
    index = count + np.arange(1, len(gain) + 1, dtype=np.float64)
    log_weight = np.log(0.7) - np.log(index + 1.0) - 2.0 * np.log(np.log(index + 1.72))
    total = np.cumsum(gain)
    shifted = log_weight - (total - gain)
    shifted[0] = np.logaddexp(shifted[0], log_before)
    return np.asarray(total + np.logaddexp.accumulate(shifted), dtype=np.float64)
