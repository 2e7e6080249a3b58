"""Which charts a run gets: one a metric or a family, stage by stage, those that carry a diagnosis first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rlprobe.doctor.catalog import entries
from rlprobe.doctor.configuration import Configuration
from rlprobe.doctor.finding import Finding
from rlprobe.recording.metrics import METRICS, Metric, find
from rlprobe.recording.run import Run
from rlprobe.reports.html.curves import Curve, curve
from rlprobe.reports.html.dossier import Constant, Panel, StageCharts, Usual, Vital
from rlprobe.reports.html.limits import Limit, limits
from rlprobe.reports.step import FOREIGN

ALL_BUCKETS = 60_000  # over all curves of a page; keeps the page of a huge run under 6 MB
MOST_BUCKETS, FEWEST_BUCKETS = 2_500, 100  # of one curve
MOST_FOREIGN = 300  # charts of metrics without a canonical name
TOGETHER = 6  # members of a family on one chart; as many colours can be told apart
BULK = 0.05  # fraction of the values at either end that lies outside the usual band
USUAL_VALUES = 5  # fewest values before an onset that make a band
LEVEL_VALUES = 8  # values that a level at the start and now is the median of
DRAWN = 60  # points of a headline number's drawing
MOST_VITALS = 6
ALWAYS = (  # charts that a reader looks for, whatever signatures look at
    "reward_mean",
    "reward_component_mean/",
    "true_reward_mean",
    "accuracy_fraction",
    "evaluation_score/",
    "entropy_mean",
    "kl_mean",
    "loss",
    "grad_norm",
    "learning_rate",
    "completion_tokens_mean",
    "step_seconds",
    "tokens_per_second",
)
VITAL = (
    "reward_mean",
    "evaluation_score/",
    "accuracy_fraction",
    "preference_accuracy_fraction",
    "kl_mean",
    "entropy_mean",
    "completion_tokens_mean",
    "grad_norm",
    "value_loss",
    "loss",
    "step_seconds",
)
NOT_DRAWN = frozenset({"wall_time"})  # the clock


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Metrics of one chart: a metric alone, or members of a family."""

    title: str
    metric: Metric | None
    names: tuple[str, ...]


def stages(run: Run, findings: Sequence[Finding], configuration: Configuration) -> tuple[StageCharts, ...]:
    """Every stage that the run has metrics of, in the registry's order, foreign keys last."""
    groups = list(_groups(run))
    foreign = [group for group in groups if group.metric is None]
    left_out = tuple(group.title for group in foreign[MOST_FOREIGN:])
    groups = [group for group in groups if group.metric is not None] + foreign[:MOST_FOREIGN]
    count = sum(len(group.names) for group in groups)
    buckets = min(max(ALL_BUCKETS // max(count, 1), FEWEST_BUCKETS), MOST_BUCKETS)
    main = _main()
    panels: dict[str, list[Panel]] = {}
    constants: dict[str, list[Constant]] = {}
    for group in groups:
        stage = FOREIGN if group.metric is None else group.metric.stage
        curves = tuple(_curve(run, name, buckets) for name in group.names)
        shown = tuple(place for place, one in enumerate(findings) if _shows(one, group.names))
        still = [_constant(run, one, value) for one in curves if (value := one.constant) is not None]
        if len(still) == len(curves) and not shown:
            constants.setdefault(stage, []).extend(still)
            panels.setdefault(stage, [])
        else:
            panel = _panel(run, group, curves, shown, findings, configuration, main)
            panels.setdefault(stage, []).append(panel)
    return tuple(
        StageCharts(
            stage=stage,
            panels=tuple(sorted(found, key=lambda panel: not panel.main)),
            constants=tuple(constants.get(stage, ())),
            left_out=left_out if stage == FOREIGN else (),
        )
        for stage, found in panels.items()
    )


def vitals(run: Run) -> tuple[Vital, ...]:
    """The headline numbers that this run has."""
    out = []
    for wanted in VITAL:
        names = [name for name in run.metrics if name == wanted or (wanted.endswith("/") and name.startswith(wanted))]
        for name in names[:1]:
            values = run.column(name)
            values = values[np.isfinite(values)]
            if len(values):
                first, last = float(np.median(values[:LEVEL_VALUES])), float(np.median(values[-LEVEL_VALUES:]))
                drawn = tuple(part_level(values, DRAWN))
                out.append(Vital(metric=name, unit=_unit(run, name), first=first, last=last, drawn=drawn))
    return tuple(out[:MOST_VITALS])


def part_level(values: "np.ndarray[tuple[int], np.dtype[np.float64]]", parts: int) -> list[float]:
    """At most `parts` levels of a series, oldest first: means over equal stretches."""
    return [float(np.mean(part)) for part in np.array_split(values, min(parts, len(values)))]


def _groups(run: Run) -> Iterator[_Group]:
    """Canonical metrics in the registry's order, families as one, then foreign keys by name."""
    there = [name for name in run.metrics if name not in NOT_DRAWN and run.logged(name).any()]
    for metric in METRICS:
        names = [name for name in there if find(name) is metric]
        if not metric.family:
            yield from (_Group(title=name, metric=metric, names=(name,)) for name in names)
            continue
        for start in range(0, len(names), TOGETHER):
            part = tuple(names[start : start + TOGETHER])
            yield _Group(title=part[0] if len(part) == 1 else metric.name, metric=metric, names=part)
    yield from (_Group(title=name, metric=None, names=(name,)) for name in sorted(there) if find(name) is None)


def _curve(run: Run, name: str, buckets: int) -> Curve:
    return curve(name, run.steps, run.column(name), run.logged(name), buckets)


def _main() -> frozenset[str]:
    """Metrics whose chart stands in front: what some signature looks at first, and what readers look for."""
    first = {name for entry in entries() for name in entry.signature.shows[:1]}
    return frozenset(ALWAYS) | {name.split("{", 1)[0] for name in first if name != "{subject}"}


def _panel(
    run: Run,
    group: _Group,
    curves: tuple[Curve, ...],
    shown: tuple[int, ...],
    findings: Sequence[Finding],
    configuration: Configuration,
    main: frozenset[str],
) -> Panel:
    known = "" if group.metric is None else group.metric.name
    drawn = [
        limit for place in shown for limit in limits(findings[place], configuration) if _first(findings[place], group)
    ]
    earliest = min((findings[place] for place in shown), key=lambda one: one.onset_step, default=None)
    return Panel(
        metric=group.title,
        unit=_unit(run, group.names[0]),
        meaning="" if group.metric is None else group.metric.meaning,
        note=run.metadata(group.names[0]).note,
        curves=curves,
        main=bool(shown) or known in main or group.metric is None,
        findings=shown,
        limits=_distinct(drawn),
        usual=_usual(run, group.names[0], earliest) if len(group.names) == 1 else None,
    )


def _shows(finding: Finding, names: tuple[str, ...]) -> bool:
    return any(entry.metric in names for entry in finding.evidence)


def _first(finding: Finding, group: _Group) -> bool:
    return finding.evidence[0].metric in group.names


def _distinct(found: Sequence[Limit]) -> tuple[Limit, ...]:
    return tuple({(limit.value, limit.name): limit for limit in found}.values())


def _usual(run: Run, name: str, finding: Finding | None) -> Usual | None:
    """The bulk of a metric's values before a finding's earliest possible onset."""
    if finding is None:
        return None
    until = finding.onset_interval[0]
    values = run.column(name)[run.steps < until]
    values = values[np.isfinite(values)]
    if len(values) < USUAL_VALUES:
        return None
    low, high = np.quantile(values, (BULK, 1 - BULK))
    return Usual(low=float(low), high=float(high), until=until)


def _constant(run: Run, one: Curve, value: float) -> Constant:
    return Constant(metric=one.name, value=value, unit=_unit(run, one.name))


def _unit(run: Run, name: str) -> str:
    metric = find(name)
    unit = run.metadata(name).unit or ("" if metric is None else metric.unit)
    return "" if unit == "dimensionless" else unit
