"""The jump arm: does a metric run away from its own recent line faster than its own recent errors allow?"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rlprobe.doctor.evidence.level import weighted_sum
from rlprobe.doctor.evidence.middle import middle
from rlprobe.recording.run import FloatArray

FIT = 40  # observations that the local line is fitted to
LAG = 10  # observations between the fit and the judged one, so that a fault cannot hide in its own baseline
REACH = FIT + LAG  # observations that one forecast error takes
DAMPING = 0.9  # an observation; how quickly the forecast's slope fades
SCALES = 48  # forecast errors that the error scale is the median of
REFRESH = 8  # observations between two measurements of the error scale
ROUNDING = 1e-13  # of an observation; what arithmetic alone makes of a metric that never varies
CLIP = 4.0  # error scales; the largest single surprise that counts
MARGIN = 0.2  # error scales that the null allows in conditional mean
BETS = (0.25, 0.5, 1.0, 1.5)  # mixture of bet sizes, per error scale
# Worst-case log moment of each bet over N(0, 1.1^2) and scaled t4 errors, clipped: keeps every factor an e-value.
PRICES = (0.053, 0.219, 0.941, 2.20)


@dataclass(frozen=True, slots=True, kw_only=True)
class JumpState:
    """What the next observation needs: recent observations, recent forecast errors, and the bets' log wealth."""

    tail: FloatArray
    errors: FloatArray
    scale: float
    carry: float
    seen: int
    bets: int
    wealth: tuple[float, ...]

    @classmethod
    def start(cls) -> "JumpState":
        """Before any observation."""
        return cls(
            tail=np.empty(0), errors=np.empty(0), scale=np.nan, carry=0.0, seen=0, bets=0, wealth=(-np.inf,) * len(BETS)
        )


def jump_evidence(x: FloatArray, state: JumpState) -> tuple[FloatArray, JumpState]:
    """Log e-values for "x lies above what its own damped local line forecasts"; give -x for the other direction.

    Null: the clipped forecast error, in units of its own lagged median absolute size, has conditional mean of at most
    MARGIN. Autocorrelated errors are allowed for by shrinking each bet by (1 - phi) / (1 + phi).

    Args:
        x: (n,) finite observations on the scale on which noise is even (logs for positive metrics), oldest first.
        state: from JumpState.start() or from the previous chunk.

    Returns:
        (n,) natural-log e-values; -inf before REACH + SCALES // 3 observations. And the state for the next chunk.

    Source: Shin, Ramdas and Rinaldo 2023, E-detectors; lagged baseline and error scale are ours, their false-alarm
    rate is measured by bench/doctor.
    """
    joined = np.concatenate([state.tail, x])
    errors = _errors(joined)
    out, state = np.full(len(x), -np.inf), replace(state, tail=joined[max(0, len(joined) - (REACH - 1)) :].copy())
    if len(errors) == 0:
        return out, state
    known = np.concatenate([state.errors, errors])
    scale, phi = _scales(known, len(state.errors), state)
    ready = np.flatnonzero(np.isfinite(scale) & (scale > 0))
    wealth = state.wealth
    if len(ready):
        surprise = np.clip(errors[ready] / scale[ready], -CLIP, CLIP)
        out[len(x) - len(errors) + ready], wealth = _bet(surprise, phi[ready], state)
    return out, replace(
        state,
        errors=known[max(0, len(known) - (SCALES + LAG + REFRESH)) :].copy(),
        scale=float(scale[-1]),
        carry=float(phi[-1]),
        seen=state.seen + len(errors),
        bets=state.bets + len(ready),
        wealth=wealth,
    )


def _errors(joined: FloatArray) -> FloatArray:
    """Newest observation minus its damped-line forecast, for every REACH observations; what is rounding is zero."""
    if len(joined) < REACH:
        return np.empty(0)
    errors = np.correlate(joined, _FORECAST, mode="valid")
    errors[np.abs(errors) <= ROUNDING * np.abs(joined[REACH - 1 :])] = 0.0
    return errors


def _forecast_weights() -> FloatArray:
    """Weights on the last FIT + LAG observations whose sum is the newest one minus its damped-line forecast."""
    t = np.arange(FIT, dtype=np.float64)
    design = np.stack([np.ones(FIT), t - t.mean()])
    reach = (FIT - 1 - t.mean()) + DAMPING * (1 - DAMPING**LAG) / (1 - DAMPING)
    line = np.linalg.solve(design @ design.T, design).T @ np.array([1.0, reach])
    return np.concatenate([-line, np.zeros(LAG - 1), [1.0]])


_FORECAST = _forecast_weights()


def _scales(known: FloatArray, start: int, state: JumpState) -> tuple[FloatArray, FloatArray]:
    """Error scale and autocorrelation of each new error: every REFRESH errors on errors at least LAG old."""
    count = len(known) - start
    position = state.seen + np.arange(count)  # index of each new error since the start of the run
    scale, phi = np.full(count, np.nan), np.zeros(count)
    marks = np.flatnonzero(position % REFRESH == 0)
    ends = position[marks] - LAG - (state.seen - start)  # one past the newest error that each mark may use
    whole = ends >= SCALES
    if whole.any():
        windows = sliding_window_view(known, SCALES)[ends[whole] - SCALES]
        scale[marks[whole]], phi[marks[whole]] = _scale_of(windows)
    for mark, end in zip(marks[~whole], ends[~whole], strict=True):
        if end >= SCALES // 3:
            one_scale, one_phi = _scale_of(known[None, :end])
            scale[mark], phi[mark] = one_scale[0], one_phi[0]
    filled = np.maximum.accumulate(np.where(position % REFRESH == 0, np.arange(count), -1))
    scale = np.where(filled >= 0, scale[np.maximum(filled, 0)], state.scale)
    phi = np.where(filled >= 0, phi[np.maximum(filled, 0)], state.carry)
    return scale, phi


def _scale_of(windows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Median error scale of each window, and its lag-one autocorrelation (Kendall's correction) in [0, 0.95]."""
    n = windows.shape[1]
    scale = 1.4826 * middle(np.abs(windows)) * (1.0 + 2.0 / n)
    centred = windows - windows.mean(axis=1, keepdims=True)
    total = np.maximum((centred * centred).sum(axis=1), 1e-300)
    phi = (centred[:, 1:] * centred[:, :-1]).sum(axis=1) / total
    return scale, np.clip(phi + (1.0 + 4.0 * phi) / n, 0.0, 0.95)


def _bet(surprise: FloatArray, phi: FloatArray, state: JumpState) -> tuple[FloatArray, tuple[float, ...]]:
    """Mixture over the bet sizes of the weighted sums of their log wealth."""
    shrink = (1.0 - phi) / (1.0 + phi)
    walks = [
        weighted_sum((bet * (surprise - MARGIN) - price) * shrink, wealth, state.bets)
        for bet, price, wealth in zip(BETS, PRICES, state.wealth, strict=True)
    ]
    mixture = walks[0] - np.log(len(BETS))
    for walk in walks[1:]:
        mixture = np.logaddexp(mixture, walk - np.log(len(BETS)))
    return mixture, tuple(float(walk[-1]) for walk in walks)
