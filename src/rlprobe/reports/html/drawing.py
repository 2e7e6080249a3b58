"""Drawings that need no script: a small line for a table, and a still chart that stands where none can be drawn."""

import math
from collections.abc import Sequence

import numpy as np

from rlprobe.reports.html.curves import Curve, extremes

STILL_BUCKETS = 60  # of a still chart's line
WIDE, HIGH = 600, 150  # units of a still chart; it is stretched to its place
SPARK_WIDE, SPARK_HIGH = 120, 28


def spark(values: Sequence[float], *, mark: float | None = None, css: str = "spark") -> str:
    """A line without axes; `mark` is where, from 0 to 1, a vertical line stands."""
    finite = [(place, value) for place, value in enumerate(values) if math.isfinite(value)]
    if not finite:
        return ""
    low, high = min(value for _, value in finite), max(value for _, value in finite)
    last = max(len(values) - 1, 1)
    points = " ".join(
        f"{_at(place / last, 2, SPARK_WIDE - 2)},{_at(1 - _part(value, low, high), 3, SPARK_HIGH - 3)}"
        for place, value in finite
    )
    if len(finite) == 1:
        points += f" {SPARK_WIDE - 2},{points.split(',')[1]}"
    drawn = f'<polyline points="{points}"/>'
    if mark is not None:
        x = _at(min(max(mark, 0.0), 1.0), 2, SPARK_WIDE - 2)
        drawn = f'<line x1="{x}" x2="{x}" y1="0" y2="{SPARK_HIGH}"/>{drawn}'
    box = f"0 0 {SPARK_WIDE} {SPARK_HIGH}"
    return f'<svg class="{css}" viewBox="{box}" preserveAspectRatio="none" aria-hidden="true">{drawn}</svg>'


def still(curves: Sequence[Curve], domain: tuple[int, int], onsets: Sequence[tuple[int, str]]) -> str:
    """The curves of a panel, and the onsets on them as (step, severity), as a picture without words."""
    extents = [(one.values.min(), one.values.max()) for one in curves if len(one.values)]
    if not extents:
        return ""
    low, high = float(min(a for a, _ in extents)), float(max(b for _, b in extents))
    drawn = []
    for step, severity in onsets:
        x = _at(_part(step, *domain), 0, WIDE)
        drawn.append(f'<line class="{severity}" x1="{x}" x2="{x}" y1="0" y2="{HIGH}"/>')
    for place, one in enumerate(curves, start=1):
        steps, values = _few(one)
        points = " ".join(
            f"{_at(_part(float(step), *domain), 0, WIDE)},{_at(1 - _part(float(value), low, high), 6, HIGH - 6)}"
            for step, value in zip(steps, values, strict=True)
        )
        drawn.append(f'<polyline class="curve-{place}" points="{points}"/>')
    box = f"0 0 {WIDE} {HIGH}"
    return f'<svg class="still" viewBox="{box}" preserveAspectRatio="none" aria-hidden="true">{"".join(drawn)}</svg>'


def _few(
    one: Curve,
) -> tuple["np.ndarray[tuple[int], np.dtype[np.int64]]", "np.ndarray[tuple[int], np.dtype[np.float64]]"]:
    kept = extremes(one.values, STILL_BUCKETS)
    return one.steps[kept], one.values[kept]


def _part(value: float, low: float, high: float) -> float:
    """Where a value lies between two others, 0 to 1; the middle where they are equal."""
    span = high / 2 - low / 2  # halves: the difference of two floats can overflow
    return 0.5 if not span > 0 else min(max((value / 2 - low / 2) / span, 0.0), 1.0)


def _at(part: float, low: float, high: float) -> str:
    return f"{low + part * (high - low):.1f}".removesuffix(".0")
