"""Confidence: how often findings of this kind were right on the labelled corpus and the lab.

The table beside this file is written by `python -m bench.doctor.calibrate` and names the hash of the corpus that it was
measured on. A signature speaks for itself from ENOUGH examples on; below that its evidence arm speaks for it.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from math import sqrt

from rlprobe.doctor.finding import Confidence
from rlprobe.doctor.signature import Signature

ENOUGH = 30  # examples of one signature from which its own frequency is told
PRIOR = 10  # examples that the arm's frequency counts for when a signature's own is shrunk towards it
_Z = 1.96  # standard normal quantile of a 95 % interval


def confidence(signature: Signature) -> Confidence:
    """The measured frequency with which findings of this signature, or of its arm, were right.

    Args:
        signature: what fired.

    Returns:
        value None and no interval when nothing of the kind was measured.
    """
    table = _table()
    arm_right, arm_all = table["arms"].get(signature.arm, (0, 0))
    right, count = table["signatures"].get(signature.id, (0, 0))
    if count >= ENOUGH:
        value = (right + PRIOR * arm_right / arm_all) / (count + PRIOR)
        return Confidence(value=round(value, 2), interval=wilson(right, count), examples=count, pooled=False)
    if arm_all == 0:
        return Confidence(value=None, interval=None, examples=0, pooled=True)
    return Confidence(
        value=round(arm_right / arm_all, 2), interval=wilson(arm_right, arm_all), examples=arm_all, pooled=True
    )


def counted(id: str) -> tuple[int, int]:
    """How many findings of one signature were right, and how many there were."""
    return _table()["signatures"].get(id, (0, 0))


def wilson(right: int, count: int, *, digits: int = 2) -> tuple[float, float]:
    """95 % score interval of a frequency, rounded.

    Source: Wilson 1927, Probable inference, the law of succession, and statistical inference.
    """
    if count == 0:
        return 0.0, 1.0
    rate, square = right / count, _Z * _Z
    middle = (rate + square / (2 * count)) / (1 + square / count)
    half = _Z / (1 + square / count) * sqrt(rate * (1 - rate) / count + square / (4 * count * count))
    return round(max(0.0, middle - half), digits), round(min(1.0, middle + half), digits)


@cache
def _table() -> Mapping[str, Mapping[str, tuple[int, int]]]:
    """Arm and signature -> (right, all) over the corpus; empty until it has been measured."""
    raw = json.loads(resources.files(__package__).joinpath("table.json").read_text(encoding="utf-8"))
    return {kind: {name: (int(a), int(b)) for name, (a, b) in raw[kind].items()} for kind in ("arms", "signatures")}
