"""The labelled real runs, written as each text format writes them, tell the doctor the same."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from rlprobe import diagnose
from rlprobe.opening import open_run
from rlprobe.recording.run import Run
from tests.support import writers
from tests.support.corpus import Label, labels

_RUNS = labels()
_SHORT = sorted(_RUNS, key=lambda label: label.path.stat().st_size)[: len(_RUNS) // 2]
_SOME = _SHORT[:: max(1, len(_SHORT) // 4)]
_OTHERS = [each for each in _RUNS if each not in _SOME]
_FORMATS: dict[str, tuple[str, writers.Writer, Callable[[list[writers.Row]], bool]]] = {
    "trainer-state": ("trainer-state", writers.trainer_state, lambda rows: "step" in rows[0]),
    "trl-console": ("trl-console", writers.trl_console, writers.plain_keys),
    "verl-console": (
        "verl-console",
        writers.verl_console,
        lambda rows: writers.only_numbers(rows) and writers.plain_keys(rows),
    ),
    "verl-file": ("verl-file", writers.verl_file, writers.finite),
    "ms-swift": ("ms-swift", writers.ms_swift, lambda rows: True),
}
pytestmark = pytest.mark.skipif(not _RUNS, reason="the labelled runs are not here")


def _rows(label: Label) -> list[writers.Row]:
    return [json.loads(line) for line in label.text().splitlines()]


def _told(run: Run) -> list[tuple[object, ...]]:
    return [
        (each.key, each.severity, each.confidence, each.onset_interval, each.detected_step, each.status, each.root)
        for each in diagnose(run).findings
    ]


@cache
def _expected(label: Label) -> list[tuple[object, ...]]:
    return _told(open_run(label.path))


def _different(tmp_path: Path, runs: list[Label], name: str) -> tuple[list[str], int]:
    """The runs that a format tells differently, and how many it can hold."""
    format, write, holds = _FORMATS[name]
    different, held = [], 0
    for label in runs:
        rows = _rows(label)
        if not holds(rows):
            continue
        held += 1
        again = open_run(write(tmp_path / f"{label.id}.log", rows))
        assert again.manifest.format == format, label.id
        if _told(again) != _expected(label):
            different.append(label.id)
    return different, held


@pytest.mark.parametrize("name", _FORMATS)
def test_a_few_short_runs_keep_their_findings_in_every_text_format(tmp_path: Path, name: str) -> None:
    different, held = _different(tmp_path, _SOME, name)

    assert different == []
    assert held >= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", _FORMATS)
def test_every_other_run_keeps_its_findings_in_every_text_format_that_holds_it(tmp_path: Path, name: str) -> None:
    different, held = _different(tmp_path, _OTHERS, name)

    assert different == []
    assert held >= 60
