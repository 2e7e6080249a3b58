"""DuckDB, polars, pandas and our own reader, each reading many times while another process records.

    python -m bench.recorder.readers [--n 500]

The writer replaces steps.parquet and adds parts of samples as often as it can. No read may fail, none may see fewer
rows than the one before, and none may see a row twice. Each tool gets steps.parquet as what stays one version.
"""

import argparse
import itertools
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl

from rlprobe import Recorder
from rlprobe.recorder import worker
from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Run

Counts = tuple[int, int, int, int]  # rows of steps, distinct ones, rows of samples, distinct ones
Reader = Callable[[Path], Counts]


def write(root: Path) -> None:
    """Record without an end."""
    worker._KEEP_EVERY = worker._SNAPSHOT_EVERY = 0.01  # type: ignore[misc]  # a bench may shorten what a run waits for
    worker._SNAPSHOT_SHARE = 0  # type: ignore[misc]
    worker._GROWTH = 0.0  # type: ignore[misc]
    worker._PART_ROWS = 64  # type: ignore[misc]
    recorder = Recorder(root, capture="all")
    for step in itertools.count():
        recorder.log_samples(step, [{"completion": f"{step}", "reward": 1.0}])
        recorder.log_step(step, {"a": step * 0.5, f"late {step // 500}": 1.0})
        time.sleep(0.01)


def by_duckdb(root: Path) -> Counts:
    """From a copy: by path DuckDB, too, opens a file twice for one query and may meet two versions."""
    held = Path(shutil.copyfile(root / _FILES[0], root.with_name("held.parquet")))
    with duckdb.connect(config={"threads": 1}) as connection:
        queries = (f"select count(*), count(distinct step) from '{name}'" for name in (held, root / _FILES[1]))
        return (*connection.execute(next(queries)).fetchall()[0], *connection.execute(next(queries)).fetchall()[0])  # type: ignore[return-value]  # two pairs


def by_polars(root: Path) -> Counts:
    """From an open file, which stays the one that it was."""
    with (root / _FILES[0]).open("rb") as file:
        steps = pl.read_parquet(file)["step"]
    samples = pl.read_parquet(root / _FILES[1], columns=["step"], missing_columns="insert")["step"]
    return len(steps), steps.n_unique(), len(samples), samples.n_unique()


def by_pandas(root: Path) -> Counts:
    """From open files, like polars."""
    with (root / _FILES[0]).open("rb") as file:
        steps = pd.read_parquet(file)["step"]
    parts = sorted((root / "samples").glob("part-*.parquet"))
    samples = pd.concat([pd.read_parquet(part, columns=["step"]) for part in parts])["step"]
    return len(steps), steps.nunique(), len(samples), samples.nunique()


class Own:
    """Our own reader: one live run, refreshed, and its samples read anew."""

    def __init__(self) -> None:
        self._run: Run | None = None

    def __call__(self, root: Path) -> Counts:
        run = self._run = self._run or Run(RecordingFeed(root))
        run.refresh()
        samples = run.samples(columns=("step",)).columns["step"].tolist()  # type: ignore[attr-defined]  # an array
        if run.reading.unreadable or run.rewinds:
            raise AssertionError(str(run.reading))
        return run.rows, len(set(run.steps.tolist())), len(samples), len(set(samples))


_FILES = ("steps.parquet", "samples/part-*.parquet")


def read(name: str, reader: Reader, root: Path, count: int) -> bool:
    """Read so many times, print what was seen; whether all of it was as promised."""
    before: Counts = (0, 0, 0, 0)
    failed = shrunk = double = 0
    for _ in range(count):
        try:
            seen = reader(root)
        except Exception as error:  # whatever the reader raises is a failed read
            failed += 1
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}")
            continue
        shrunk += seen[0] < before[0] or seen[2] < before[2]
        double += seen[0] != seen[1] or seen[2] != seen[3]
        before = seen
    told = f"failed={failed}  shrunk={shrunk}  double={double}  rows={before[0]}  samples={before[2]}"
    print(f"{name:8} reads={count}  {told}")
    return not (failed or shrunk or double)


def main() -> None:
    """Print a line a reader."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=500, help="reads of each")
    arguments = parser.parse_args()
    readers: dict[str, Reader] = {"duckdb": by_duckdb, "polars": by_polars, "pandas": by_pandas, "own": Own()}
    sound = 0
    for name, reader in readers.items():
        with tempfile.TemporaryDirectory(prefix="rlprobe-readers-") as folder:
            root = Path(folder) / "run"
            writer = multiprocessing.get_context("fork").Process(target=write, args=(root,), daemon=True)
            writer.start()
            while not (root / "samples" / "part-000000.parquet").exists() or not (root / _FILES[0]).exists():
                if not writer.is_alive():
                    raise SystemExit("the writer ended by itself")
                os.sched_yield()
            sound += read(name, reader, root, arguments.n)
            writer.kill()
            writer.join()
    print(f"{sound} of {len(readers)} readers: no read failed, none saw fewer rows than before, none a row twice")
    raise SystemExit(0 if sound == len(readers) else 1)


if __name__ == "__main__":
    main()
