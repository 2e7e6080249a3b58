"""The change point by one least-squares fit a candidate."""

import numpy as np

from rlprobe.doctor.evidence.onset import EDGE
from rlprobe.recording.run import FloatArray


def residuals_slow(x: FloatArray, shape: str, phi: float) -> list[float]:
    """Residual sum of squares of every candidate, after AR(1) whitening of both sides."""
    n, out = len(x), []
    t = np.arange(n, dtype=float)
    for k in range(EDGE, n - EDGE):
        f = (t >= k).astype(float) if shape == "step" else np.maximum(0.0, t - k)
        design = np.column_stack([np.ones(n), f])
        a, y = design[1:] - phi * design[:-1], x[1:] - phi * x[:-1]
        rest = y - a @ np.linalg.lstsq(a, y, rcond=None)[0]
        out.append(float(rest @ rest))
    return out
