"""DuckDB, polars, pandas and our own reader beside a writer that replaces steps.parquet all the time."""

import threading

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from rlprobe.recorder.items import StepItem
from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Run
from tests.recording.test_live_reading import session


def count_duckdb(path) -> int:
    with duckdb.connect() as connection:
        return connection.execute(f"select count(*), count(distinct step) from '{path}'").fetchall()[0]


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
    stop = threading.Event()

    def write() -> None:
        step = 0
        while not stop.is_set():
            writer.write([StepItem(step + n, 1.0, {"a": step + n, f"late {step // 200}": 1.0}) for n in range(20)])
            writer.snapshot()
            step += 20

    thread = threading.Thread(target=write)
    thread.start()
    path = tmp_path / "run" / "steps.parquet"
    before, own = 0, Run(RecordingFeed(tmp_path / "run"))
    try:
        while not path.exists() and thread.is_alive():
            stop.wait(0.01)
        for _ in range(60):
            rows, distinct = count(path)
            own.refresh()
            assert rows == distinct >= before
            assert own.steps.tolist() == list(range(own.rows))
            assert own.rows >= rows
            before = rows
    finally:
        stop.set()
        thread.join()

    assert own.rewinds == 0
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
