"""The labelled real runs: what is read of each, and that it does not depend on the wrapping."""

import csv
import json
from pathlib import Path

import pytest

from rlprobe.opening import open_run
from rlprobe.recording.metrics import find
from tests.support.corpus import Label, labels
from tests.support.logs import contents

_SNAPSHOT = Path(__file__).parent / "real_runs.csv"
_RUNS = labels()
pytestmark = pytest.mark.skipif(not _RUNS, reason="the labelled runs are not here")


def reading_of(label: Label) -> dict[str, str]:
    """What the snapshot holds of one run."""
    run = open_run(label.path)
    known = [name for name in run.metrics if find(name) is not None]
    return {
        "id": label.id,
        "framework": run.manifest.framework,
        "algorithm": run.algorithm,
        "rows": str(run.rows),
        "first_step": str(run.steps[0]),
        "last_step": str(run.steps[-1]),
        "rewinds": str(run.rewinds),
        "unreadable": str(run.reading.unreadable + run.reading.bad_values),
        "settings": " ".join(f"{name}={value}" for name, value in sorted(run.manifest.settings.items())),
        "metrics": " ".join(f"{name}:{int(run.logged(name).sum())}" for name in sorted(known)),
    }


@pytest.mark.slow
def test_the_labelled_runs_read_as_they_were_last_seen_to() -> None:
    with _SNAPSHOT.open(encoding="utf-8", newline="") as lines:
        expected = list(csv.DictReader(lines))

    assert [reading_of(label) for label in _RUNS] == expected


@pytest.mark.slow
def test_every_labelled_run_has_a_reward_or_says_nothing_of_it() -> None:
    without = [label.id for label in _RUNS if "reward_mean" not in open_run(label.path).metrics]

    # one loop logs no reward at all, one preference run has margins instead
    assert without == ["unsloth-37", "custom-08"]


@pytest.mark.slow
@pytest.mark.parametrize("wrapping", ["csv", "json", "union"])
def test_a_run_reads_the_same_in_every_wrapping(tmp_path: Path, wrapping: str) -> None:
    different = []
    for label in _RUNS:
        rows = [json.loads(line) for line in label.text().splitlines()]
        path = tmp_path / f"{label.id}.{wrapping}"
        _write(path, rows, wrapping)
        if contents(open_run(path)) != contents(open_run(label.path)):
            different.append(label.id)

    assert different == []


def _write(path: Path, rows: list[dict[str, object]], wrapping: str) -> None:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    if wrapping == "json":
        path.write_text(json.dumps(rows))
    elif wrapping == "union":
        path.write_text("".join(json.dumps({key: row.get(key) for key in keys}) + "\n" for row in rows))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, keys)
            writer.writeheader()
            writer.writerows(rows)
