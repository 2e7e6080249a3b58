"""What each failure looks like: curves of a lab run with the fault, beside a healthy run that resembles it.

The table beside this file is written by `python -m bench.catalog`; pages draw from it, and nothing judges by it.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources

POINTS = 40  # of a curve: as many as a line of a terminal shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One metric over both runs.

    Attributes:
        metric: canonical name.
        unit: what it is in.
        fault, calm: means over POINTS equal stretches of steps; NaN where nothing finite was logged. `calm` is empty
            where the healthy run does not log the metric.
        log: whether it is drawn on a logarithmic scale; every finite value is then above 0.
    """

    metric: str
    unit: str
    fault: tuple[float, ...]
    calm: tuple[float, ...]
    log: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One signature's curves.

    Attributes:
        fault, calm: names for `rlprobe demo`.
        seed, steps: how both were trained.
        onset: step at which the doctor puts the onset in the fault's run.
        detected: step at which it could first be told; 0 where the doctor names another signature in that run, and
            `onset` is then the fault's own.
    """

    fault: str
    calm: str
    seed: int
    steps: int
    onset: int
    detected: int
    curves: tuple[Curve, ...]


def chart(id: str) -> Chart | None:
    """The chart of a signature; None where none was drawn (a signature of another package)."""
    return _table().get(id)


@cache
def _table() -> dict[str, Chart]:
    raw = json.loads(resources.files(__package__).joinpath("charts.json").read_text(encoding="utf-8"))
    return {id: Chart(**{**row, "curves": tuple(map(_curve, row["curves"]))}) for id, row in raw.items()}


def _curve(row: dict[str, object]) -> Curve:
    metric, unit = str(row["metric"]), str(row["unit"])
    return Curve(metric=metric, unit=unit, fault=_values(row["fault"]), calm=_values(row["calm"]), log=bool(row["log"]))


def _values(values: object) -> tuple[float, ...]:
    assert isinstance(values, list)
    return tuple(float("nan") if value is None else float(value) for value in values)
