"""Small logs written to disk, and what a Run read from them holds."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from rlprobe.opening import open_run
from rlprobe.recording.run import Run


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> Path:
    """A JSONL file of these rows."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def run_of(path: Path, *rows: Mapping[str, object], **options: object) -> Run:
    """The run that a log of these rows holds."""
    return open_run(write_rows(path / "log.jsonl", rows), **options)  # type: ignore[arg-type]  # options of open_run


def logged_values(run: Run, name: str) -> dict[int, float]:
    """step -> value of every row in which the metric was logged."""
    steps, values, mask = run.steps, run.column(name), run.logged(name)
    return {int(steps[row]): float(values[row]) for row in np.flatnonzero(mask)}


def contents(run: Run) -> dict[str, list[tuple[int, str]]]:
    """Everything logged, as text, so that NaN equals NaN."""
    return {name: [(step, repr(value)) for step, value in logged_values(run, name).items()] for name in run.metrics}
