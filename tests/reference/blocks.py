"""The fall from the best block, row by row, straight from its definition."""

import numpy as np

from rlprobe.doctor.evidence.blocks import BLOCKS, EARLY, FIRST, PHI, SHORTEST


def block_fall_slow(x: list[float]) -> list[tuple[float, float, float, float, float]]:
    """(best, start, last, noise, z) at each row."""
    return [_at(np.array(x[: i + 1])) for i in range(len(x))]


def _at(x: np.ndarray) -> tuple[float, float, float, float, float]:
    n = len(x)
    if n < FIRST:
        return (np.nan,) * 5
    width = max(SHORTEST, n // BLOCKS)
    blocks = [x[n - (k + 1) * width : n - k * width] for k in range(min(BLOCKS, n // width))]
    means = [float(np.mean(block)) for block in blocks]
    within = float(np.mean([np.var(block, ddof=1) for block in blocks[1:]]))
    early = x[: int(n * EARLY)]
    m, t = len(early), np.arange(len(early))
    slope, level = np.polyfit(t, early, 1)
    around = float(np.sum((early - level - slope * t) ** 2) / (m - 2))
    step = max(0.0, float(np.sum(np.diff(early) ** 2) / (m - 1) - slope**2)) / 2
    phi = 1 - step / around if around > 0 else 0.0
    phi = min(PHI, max(0.0, phi + (1 + 4 * phi) / m))
    variance = max(around * (1 + phi) / (1 - phi), within)
    error = max(np.sqrt(2 * variance / width), 1e-9 * (1 + abs(x[0])))
    best = max(means[1:])
    return best, float(np.mean(x[:width])), means[0], float(np.sqrt(max(around, within))), (best - means[0]) / error
