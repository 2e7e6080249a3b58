"""The level arm row by row, straight from its definition."""

import math

from rlprobe.doctor.evidence.level import NULL_RATE, STAKE


def level_evidence_slow(exceeds: list[bool]) -> list[float]:
    """M_t = (M_(t-1) + w_t)(1 + STAKE (Z_t - NULL_RATE)); its natural log after each row."""
    total, out = 0.0, []
    for k, z in enumerate(exceeds, start=1):
        weight = 0.7 / ((k + 1) * math.log(k + 1.72) ** 2)
        total = (total + weight) * (1 + STAKE * (float(z) - NULL_RATE))
        out.append(math.log(total))
    return out
