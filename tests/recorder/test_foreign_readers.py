"""DuckDB, polars, pandas and our own reader beside a writer that replaces steps.parquet all the time."""

import shutil
import threading

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from rlprobe.recorder.items import SamplesItem, StepItem
from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Run
from tests.recording.test_live_reading import session


def count_duckdb(path) -> int:
    held = shutil.copyfile(path, path.parents[1] / "held.parquet")  # by path it may meet two versions
    with duckdb.connect(config={"threads": 1}) as connection:
        return connection.execute(f"select count(*), count(distinct step) from '{held}'").fetchall()[0]


def count_polars(path) -> tuple[int, int]:
    with path.open("rb") as file:  # by path polars opens it twice and may meet two versions
        steps = pl.read_parquet(file)["step"]
    return len(steps), steps.n_unique()


def count_pandas(path) -> tuple[int, int]:
    with path.open("rb") as file:  # by path pandas, too, reads the footer and the pages at two moments
        steps = pd.read_parquet(file)["step"]
    return len(steps), steps.nunique()


@pytest.mark.slow
@pytest.mark.parametrize("count", [count_duckdb, count_polars, count_pandas])
def test_any_parquet_tool_reads_mid_run_without_error_shrinking_or_double_rows(tmp_path, count):
    writer = session(tmp_path / "run")
    stop, turns = threading.Event(), threading.Semaphore(3)

    def write() -> None:
        step = 0
        while turns.acquire() and not stop.is_set():  # no further ahead than a few files, however slow the reader is
            for each in range(step, step + 20):
                writer.write([SamplesItem(each, 1.0, [{"completion": f"{each}"}])])
                writer.write([StepItem(each, 1.0, {"a": each, f"late {each // 200}": 1.0})])
            writer.snapshot()
            writer.write_parts()
            step += 20

    thread = threading.Thread(target=write)
    thread.start()
    path, part = tmp_path / "run" / "steps.parquet", tmp_path / "run" / "samples" / "part-000000.parquet"
    before, own, samples = 0, Run(RecordingFeed(tmp_path / "run")), 0
    try:
        while not part.exists() and thread.is_alive():
            stop.wait(0.01)
        for _ in range(20):
            turns.release(3)
            rows, distinct = count(path)
            own.refresh()
            read = own.samples(columns=("completion",)).columns["completion"]
            assert rows == distinct >= before
            assert own.steps.tolist() == list(range(own.rows))
            assert own.rows >= rows
            assert read == [f"{step}" for step in range(len(read))]
            assert len(read) >= samples
            assert count(part) == (20, 20)
            before, samples = rows, len(read)
    finally:
        stop.set()
        turns.release()
        thread.join()

    assert (own.rewinds, own.reading.unreadable) == (0, 0)
    assert before > 0


def test_null_is_not_logged_and_nan_is_nan_in_every_tool(tmp_path):
    writer = session(tmp_path / "run")
    writer.write([StepItem(0, 1.0, {"a": float("nan")}), StepItem(1, 1.0, {"b": 1.0}), StepItem(2, 1.0, {"a": 2.0})])
    writer.snapshot(closing=True)
    path = tmp_path / "run" / "steps.parquet"

    assert duckdb.sql(f"select a is null, isnan(a) from '{path}' order by step").fetchall() == [
        (False, True),
        (True, None),
        (False, False),
    ]
    column = pl.read_parquet(path)["a"]
    assert column.is_null().to_list() == [False, True, False]
    assert np.isnan(column[0])
