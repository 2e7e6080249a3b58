"""When did it begin? The most likely step or ramp, with an interval, instead of the first threshold crossing."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rlprobe.recording.run import FloatArray

CRITICAL = 7.35  # Hansen 2000, table 1: 95 % point of the likelihood-ratio statistic of a threshold
LARGE = 1e100  # of an observation: beyond it, and below its inverse, squares leave the range of floats
EDGE = 3  # observations at either end where no change is looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Onset:
    """Index of the most likely first changed observation, its 95 % set's ends, and the shape that fits better."""

    index: int
    low: int
    high: int
    shape: Literal["step", "ramp", "start"]


def onset(x: FloatArray) -> Onset:
    """The change point of one window by least squares under AR(1) errors, step or hinge, whichever fits better.

    Args:
        x: (n,) finite observations around the change, oldest first.

    Returns:
        Onset in indices of x; the whole window with shape "start" when it has fewer than 2 * EDGE + 4 observations or
        does not vary.

    Source: Hansen 2000, Sample splitting and threshold estimation (likelihood-ratio set); slow twin in
    tests/reference/onset.py.
    """
    n = len(x)
    if n < 2 * EDGE + 4 or float(np.ptp(x)) == 0.0:
        return Onset(index=0, low=0, high=max(0, n - 1), shape="start")
    size = float(np.max(np.abs(x)))
    if not 1 / LARGE < size < LARGE:
        x = x / size
    t = np.arange(n, dtype=np.float64)
    candidates = np.arange(EDGE, n - EDGE)
    step = (t[None, :] >= candidates[:, None]).astype(np.float64)
    ramp = np.maximum(0.0, t[None, :] - candidates[:, None])
    best: tuple[float, Onset] | None = None
    for shape, design in (("step", step), ("ramp", ramp)):
        phi = 0.0
        for _ in range(2):
            errors = _residual_sums(x, design, phi)
            phi = _error_autocorrelation(x, design[int(np.argmin(errors))])
        at = int(np.argmin(errors))
        statistic = (errors - errors[at]) / max(errors[at] / max(1, n - 4), 1e-300)
        inside = candidates[np.flatnonzero(statistic <= CRITICAL)]
        found = Onset(index=int(candidates[at]), low=int(inside[0]), high=int(inside[-1]), shape=shape)  # type: ignore[arg-type]  # "step" or "ramp"
        if best is None or errors[at] < best[0]:
            best = (float(errors[at]), found)
    assert best is not None
    return best[1]


def _residual_sums(x: FloatArray, design: FloatArray, phi: float) -> FloatArray:
    """(k,) residual sums of squares of x on a constant and each row of design, after AR(1) whitening."""
    y = x[1:] - phi * x[:-1]
    f = design[:, 1:] - phi * design[:, :-1]
    y = y - y.mean()
    f = f - f.mean(axis=1, keepdims=True)
    power = (f * f).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        explained = np.where(power > 1e-12, (f @ y) ** 2 / power, 0.0)
    return np.maximum(float(y @ y) - explained, 0.0)


def _error_autocorrelation(x: FloatArray, f: FloatArray) -> float:
    centred = f - f.mean()
    power = float(centred @ centred)
    slope = float(centred @ x) / power if power > 0 else 0.0
    rest = x - x.mean() - slope * centred
    total = float(rest @ rest)
    if total <= 0:
        return 0.0
    phi = float(rest[1:] @ rest[:-1]) / total
    return min(0.95, max(0.0, phi + (1.0 + 4.0 * phi) / len(x)))
