"""The chart of a catalog page: as bars for a terminal, as a self-contained SVG for the site."""

import html
import math
from collections.abc import Sequence

from rlprobe.doctor.charts import Chart, Curve
from rlprobe.reports import format as say

WIDTH, PANEL, LEFT, RIGHT, TOP = 640, 96, 64, 12, 22  # pixels: drawing, one metric's plot, its margins
GAP = 30  # pixels between two plots, for the lower one's title


def text(chart: Chart) -> str:
    """Each metric as two rows of bars on one scale, the fault's above the healthy run's, and a mark at the onset."""
    blocks = [_caption(chart).replace(". Steps", ".\nSteps")]
    for curve in chart.curves:
        bars = say.sparkline(_scaled(curve, (*curve.fault, *curve.calm)))
        rows = [curve.metric + _unit(curve), f"  fault    {bars[: len(curve.fault)]}  {_ends(curve.fault)}"]
        if curve.calm:
            rows.append(f"  healthy  {bars[len(curve.fault) :]}  {_ends(curve.calm)}")
        blocks.append("\n".join(rows))
    mark = " " * (11 + _place(chart, len(chart.curves[0].fault))) + f"^ onset at step {chart.onset}"
    return "\n\n".join(blocks) + f"\n{mark}"


def svg(chart: Chart, title: str) -> str:
    """The same curves as lines. It loads nothing, and takes its colours from the page's text colour and two classes."""
    height = TOP + len(chart.curves) * (PANEL + GAP)
    parts = [
        f'<svg class="rl-chart" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html.escape(title)}"'
        ' xmlns="http://www.w3.org/2000/svg">',
        *(_panel(chart, curve, TOP + index * (PANEL + GAP)) for index, curve in enumerate(chart.curves)),
        "</svg>",
    ]
    return "\n".join(parts)


def caption(chart: Chart) -> str:
    """What the lines of the drawing are, for the text below it."""
    return f"{_caption(chart)}. Dashed: the onset, step {chart.onset}."


def _caption(chart: Chart) -> str:
    seed = f", seed {chart.seed}" if chart.seed else ""
    return f"Fault: {chart.fault}. Healthy: {chart.calm}. Steps 1 to {chart.steps} of the lab{seed}"


def _panel(chart: Chart, curve: Curve, top: int) -> str:
    finite = [value for value in (*curve.fault, *curve.calm) if math.isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    bottom, ceiling = _scaled(curve, (low, high))
    scale = _Scale(bottom, ceiling if ceiling > bottom else bottom + 1.0, top, len(curve.fault))
    onset = LEFT + (WIDTH - LEFT - RIGHT) * (chart.onset - 1) / chart.steps
    name = html.escape(curve.metric + _unit(curve))
    calm = [f'<path class="rl-calm" d="{scale.path(_scaled(curve, curve.calm))}"/>'] if curve.calm else []
    return "\n".join(
        [
            f'<text class="rl-name" x="{LEFT}" y="{top - 6}">{name}</text>',
            f'<text class="rl-tick" x="{LEFT - 6}" y="{top + 10}">{html.escape(say.number(high))}</text>',
            f'<text class="rl-tick" x="{LEFT - 6}" y="{top + PANEL}">{html.escape(say.number(low))}</text>',
            f'<path class="rl-axis" d="M{LEFT} {top}V{top + PANEL}H{WIDTH - RIGHT}"/>',
            f'<path class="rl-onset" d="M{onset:.1f} {top}V{top + PANEL}"/>',
            *calm,
            f'<path class="rl-fault" d="{scale.path(_scaled(curve, curve.fault))}"/>',
        ]
    )


class _Scale:
    """Places of one plot."""

    def __init__(self, low: float, high: float, top: int, count: int) -> None:
        self._low, self._high, self._top, self._count = low, high, top, count

    def path(self, values: Sequence[float]) -> str:
        """Line segments; it breaks where a value is not finite."""
        out, drawing = [], False
        for index, value in enumerate(values):
            if not math.isfinite(value):
                drawing = False
                continue
            x = LEFT + (WIDTH - LEFT - RIGHT) * (index + 0.5) / self._count
            y = self._top + PANEL * (1 - (value - self._low) / (self._high - self._low))
            out.append(f"{'L' if drawing else 'M'}{x:.1f} {y:.1f}")
            drawing = True
        return "".join(out)


def _scaled(curve: Curve, values: Sequence[float]) -> tuple[float, ...]:
    """The values as they are drawn: their logarithms where the curve is logarithmic."""
    return tuple(math.log10(value) if value > 0 else math.nan for value in values) if curve.log else tuple(values)


def _unit(curve: Curve) -> str:
    unit = "" if curve.unit in say.UNITS_UNSAID else f", {say.plain(curve.unit)}"
    return f"{unit}, logarithmic" if curve.log else unit


def _ends(values: Sequence[float]) -> str:
    finite = [value for value in values if math.isfinite(value)]
    return f"{say.number(finite[0])} → {say.number(finite[-1])}" if finite else say.MISSING


def _place(chart: Chart, count: int) -> int:
    return min(count - 1, (chart.onset - 1) * count // chart.steps)
