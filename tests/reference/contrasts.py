"""Contrasts of neighbouring windows one by one: the slow twin of forensics/parting.py."""

import numpy as np


def contrast(gap: np.ndarray, row: int, width: int) -> float:
    """Mean of the `width` values from `row` on, less that of the `width` before."""
    return float(gap[row : row + width].mean() - gap[row - width : row].mean())


def usual(gap: np.ndarray, row: int, width: int) -> float:
    """Mean square of the contrasts that end before the one at `row` begins; of their later half where that is more."""
    earlier = [contrast(gap, at, width) ** 2 for at in range(width, row - width + 1)]
    later = earlier[len(earlier) // 2 :]
    return max(float(np.mean(earlier)), float(np.mean(later)))
