"""How much does noise repeat itself, and how far can the mean of a few observations stray because of it?"""

from dataclasses import dataclass

import numpy as np

from rlprobe.recording.run import FloatArray, IntArray

FIRST = 12  # observations before which nothing is said
FAR = 6  # observations that the longer step spans
PHI = 0.95  # largest autocorrelation that is allowed for
CHANCE = 1.5  # of 1 / sqrt(n); what an estimate from n observations reaches by chance alone
_PHIS = np.linspace(0.0, PHI, 200)
_RATIOS = (1.0 - _PHIS**FAR) / (1.0 - _PHIS)  # what the steps over FAR are to those over one, by autocorrelation


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsState:
    """Sums of squared steps over one and over FAR observations, observations so far, and the newest of them."""

    near: float
    far: float
    count: int
    last: FloatArray

    @classmethod
    def start(cls) -> "StepsState":
        """Before any observation."""
        return cls(near=0.0, far=0.0, count=0, last=np.empty(0))


def persistence(x: FloatArray, state: StepsState) -> tuple[FloatArray, StepsState]:
    """Lag-one autocorrelation of noise around a slow course so far, as far as it is beyond chance.

    Half the mean squared step over k observations of AR(1) noise estimates sigma^2 (1 - phi^k). No mean and no line is
    taken off first, which is what biases the usual estimate towards zero. A leap passes for persistence: where one may
    have just happened, ask what was known before.

    Args:
        x: (n,) finite observations, oldest first; n may be 0.
        state: from StepsState.start() or from the previous chunk.

    Returns:
        (n,) autocorrelations in [0, PHI], NaN before FIRST observations, and the state for the next chunk.

    Source: von Neumann 1941 for squared steps, Kendall 1954 for the bias; slow twin in tests/reference/persistence.py.
    """
    near, far, count, state = _steps(x, state)
    return _phi(near, far, count), state


def straying(x: FloatArray, state: StepsState, *, width: int) -> tuple[FloatArray, StepsState]:
    """How far the mean of `width` observations strays because noise repeats itself. Arguments as persistence.

    It is what AR(1) noise adds to the standard error of independent noise; its square is
    sigma^2 / width ((1 + phi) / (1 - phi) - 2 phi (1 - phi^width) / (width (1 - phi)^2) - 1).
    """
    near, far, count, state = _steps(x, state)
    phi = _phi(near, far, count)
    variance = np.maximum(near / (1.0 - phi), far / (1.0 - phi**FAR))
    repeated = (1.0 + phi) / (1.0 - phi) - 2.0 * phi * (1.0 - phi**width) / (width * (1.0 - phi) ** 2)
    return np.sqrt(variance * np.maximum(0.0, repeated - 1.0) / width), state


def _steps(x: FloatArray, state: StepsState) -> tuple[FloatArray, FloatArray, IntArray, StepsState]:
    """(n,) half the mean squared step over one and over FAR observations, NaN before FIRST of them; and their count."""
    joined = np.concatenate([state.last, x])
    count = state.count + np.arange(1, len(x) + 1)
    means: list[FloatArray] = []
    sums: list[float] = []
    for lag, before in ((1, state.near), (FAR, state.far)):
        squares = np.zeros(len(joined))
        squares[lag:] = (joined[lag:] - joined[:-lag]) ** 2
        total = np.cumsum(np.concatenate([[before], squares[len(state.last) :]]))
        means.append(np.where(count < FIRST, np.nan, total[1:] / (2.0 * np.maximum(1, count - lag))))
        sums.append(float(total[-1]))
    carried = StepsState(near=sums[0], far=sums[1], count=state.count + len(x), last=joined[-FAR:].copy())
    return means[0], means[1], count, carried


def _phi(near: FloatArray, far: FloatArray, count: IntArray) -> FloatArray:
    ratio = np.divide(far, near, out=np.where(np.isnan(near), np.nan, 1.0), where=near > 0)
    return np.maximum(0.0, np.interp(ratio, _RATIOS, _PHIS) - CHANCE / np.sqrt(count))
