"""SQLite databases of Trackio and MLflow: which run is read, living writers, hostile schemas, damage."""

import math
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from rlprobe.opening import UnreadableSource, open_run
from rlprobe.recording.run import Run
from tests.importers.test_binary_formats import MLFLOW, MLRUNS, TRACKIO
from tests.support import binary_writers
from tests.support.logs import logged_values

_ROWS = [{"step": step, "reward": step / 8} for step in range(8)]


@pytest.mark.parametrize(("source", "runs"), [(TRACKIO, 2), (MLFLOW, 2), (MLRUNS, 2)])
def test_of_several_runs_the_newest_or_the_named_one_is_read_and_they_are_listed(source: Path, runs: int) -> None:
    first, last = open_run(source, run=1), open_run(source, run=2)

    assert _values(last, "reward_mean")[0] == 0.0
    assert _values(first, "reward_mean")[0] == 1.0
    assert any(f"{runs} runs" in note and "1: " in note for note in first.reading.notes)
    with pytest.raises(UnreadableSource, match="3"):
        open_run(source, run=3)


def test_a_database_is_read_without_a_trace(tmp_path: Path) -> None:
    for source in (TRACKIO, MLFLOW):
        shutil.copy(source, tmp_path / source.name)
    before = {each: each.read_bytes() for each in tmp_path.iterdir()}
    for each in before:
        each.chmod(0o444)
        open_run(each).refresh()

    assert {each: each.read_bytes() for each in tmp_path.iterdir()} == before


def test_a_view_in_the_place_of_a_table_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "trap.db"
    with closing(sqlite3.connect(path)) as connection:
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
        connection.execute(
            f"CREATE VIEW metrics AS SELECT i AS timestamp, i AS run_name, i AS step, i AS metrics FROM ({endless})"
        )
        connection.commit()

    with pytest.raises(UnreadableSource, match="binary data"):
        open_run(path)


@pytest.mark.parametrize("source", [TRACKIO, MLFLOW])
def test_a_database_that_breaks_while_it_is_followed_is_told_once(tmp_path: Path, source: Path) -> None:
    path = tmp_path / source.name
    shutil.copy(source, path)
    run = open_run(path)
    path.write_bytes(b"no database" * 100)

    assert run.refresh() == 0
    told = run.reading.unreadable
    assert told > 0
    assert run.refresh() == 0
    assert (run.rows, run.reading.unreadable) == (12, told)


def test_a_database_with_a_living_writer_is_read_up_to_its_last_commit(tmp_path: Path) -> None:
    path = binary_writers.trackio(tmp_path / "a.db", _ROWS[:4])
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO metrics VALUES (9, 'abc', '', 'name', 9, '{\"reward\": 9.0}')")
        writer.commit()

        assert open_run(path).steps.tolist() == [0, 1, 2, 3, 9]


def test_trackios_older_table_knows_runs_by_their_name(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("CREATE TABLE metrics (id INTEGER PRIMARY KEY, timestamp, run_name, step, metrics)")
        for name in ("first", "second"):
            writer.execute(
                "INSERT INTO metrics (timestamp, run_name, step, metrics) VALUES (?, ?, 3, ?)",
                ("2026-01-01T00:00:00+00:00", name, '{"reward": 0.5, "kl": "NaN", "loss": "-Infinity"}'),
            )
        writer.commit()

    run = open_run(path)

    assert run.manifest.run_id == "second"
    assert logged_values(run, "loss") == {3: -math.inf}
    assert logged_values(run, "wall_time") == {3: 1767225600.0}


def _values(run: Run, name: str) -> list[float]:
    return list(logged_values(run, name).values())
