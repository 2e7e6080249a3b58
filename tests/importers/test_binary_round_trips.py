"""The labelled real runs, written in each binary format and read back, tell the doctor the same."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from rlprobe import diagnose
from rlprobe.opening import open_run
from rlprobe.recording.run import Run
from tests.support import binary_writers
from tests.support.corpus import Label, labels
from tests.support.writers import Row, Writer

_RUNS = labels()
_SHORT = sorted(_RUNS, key=lambda label: label.path.stat().st_size)[: len(_RUNS) // 2]
_SOME = _SHORT[:: max(1, len(_SHORT) // 4)]
_OTHERS = [each for each in _RUNS if each not in _SOME]
pytestmark = pytest.mark.skipif(not _RUNS, reason="the labelled runs are not here")


def _no_nulls(rows: list[Row]) -> bool:
    return all(value is not None for row in rows for value in row.values())


_FORMATS: dict[str, tuple[Writer, Callable[[list[Row]], bool]]] = {
    "wandb": (binary_writers.wandb, lambda rows: True),
    "trackio": (binary_writers.trackio, lambda rows: True),
    "tensorboard": (binary_writers.tensorboard, _no_nulls),
    "mlflow": (binary_writers.mlflow_database, _no_nulls),
    "mlflow-files": (binary_writers.mlflow_files, _no_nulls),
}


def _told(run: Run) -> list[tuple[object, ...]]:
    return [
        (each.key, each.severity, each.onset_interval, each.detected_step, each.status)
        for each in diagnose(run).findings
    ]


@cache
def _expected(label: Label) -> list[tuple[object, ...]]:
    return _told(open_run(label.path))


def _different(tmp_path: Path, runs: list[Label], name: str) -> tuple[list[str], int]:
    """The runs that a format tells differently, and how many it can hold."""
    write, holds = _FORMATS[name]
    different, held = [], 0
    for label in runs:
        rows = [json.loads(line) for line in label.text().splitlines()]
        if not holds(rows):
            continue
        held += 1
        again = open_run(write(tmp_path / label.id, rows))
        assert again.manifest.format == name.partition("-")[0], label.id
        if _told(again) != _expected(label):
            different.append(label.id)
    return different, held


@pytest.mark.parametrize("name", _FORMATS)
def test_a_few_short_runs_keep_their_findings_in_every_binary_format(tmp_path: Path, name: str) -> None:
    different, held = _different(tmp_path, _SOME, name)

    assert different == []
    assert held >= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", _FORMATS)
def test_every_other_run_keeps_its_findings_in_every_binary_format_that_holds_it(tmp_path: Path, name: str) -> None:
    different, held = _different(tmp_path, _OTHERS, name)

    assert different == []
    assert held >= 60
