"""The autocorrelation of noise, and what it makes of a mean, row by row from their definitions."""

import math

from rlprobe.doctor.evidence.persistence import CHANCE, FAR, FIRST, PHI


def persistence_slow(x: list[float]) -> list[float]:
    """Autocorrelation beyond chance at each row; NaN while there is too little."""
    return [_phi(x[: i + 1]) if i + 1 >= FIRST else math.nan for i in range(len(x))]


def straying_slow(x: list[float], width: int) -> list[float]:
    """What the covariances of every two observations add to the standard error of a mean of `width`, at each row."""
    out = []
    for i in range(len(x)):
        if i + 1 < FIRST:
            out.append(math.nan)
            continue
        phi = _phi(x[: i + 1])
        variance = max(_half(x[: i + 1], 1) / (1 - phi), _half(x[: i + 1], FAR) / (1 - phi**FAR))
        pairs = sum(phi ** abs(a - b) for a in range(width) for b in range(width) if a != b)
        out.append(math.sqrt(variance * pairs) / width)
    return out


def _half(x: list[float], lag: int) -> float:
    return sum((b - a) ** 2 for a, b in zip(x, x[lag:], strict=False)) / (len(x) - lag) / 2


def _phi(x: list[float]) -> float:
    """By bisection of 1 + phi + ... + phi^(FAR - 1) = far / near."""
    near, far = _half(x, 1), _half(x, FAR)
    low, high = 0.0, PHI
    for _ in range(60):
        phi = (low + high) / 2
        low, high = (phi, high) if sum(phi**k for k in range(FAR)) * near < far else (low, phi)
    return max(0.0, (low + high) / 2 - CHANCE / math.sqrt(len(x)))
