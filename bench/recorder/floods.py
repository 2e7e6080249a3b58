"""More rows, or more names, than a recorder can take: what is recorded, what is dropped, what it costs.

    python -m bench.recorder.floods [--rows 10000000] [--names 10000]

Each case runs in a process of its own, in a loop that does nothing but log. Rows that are read back and rows that were
dropped must add up to those that were logged, every value must be right, and memory must stay bounded.
"""

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from rlprobe import Recorder
from rlprobe.recording.parquet import StepsFile

Row = dict[str, float]


def scalars(step: int) -> Row:
    """Two metrics."""
    return {"a": step * 0.5, "b": float(-step)}


def many(names: int) -> Callable[[int], Row]:
    """Rows of so many metrics."""
    listed = [f"metric {number}" for number in range(names)]
    return lambda step: dict.fromkeys(listed, step * 0.5)


def flood(directory: Path, rows: int, make: Callable[[int], Row]) -> dict[str, float]:
    """Log, close, and tell what it took."""
    recorder = Recorder(directory / "run")
    began, cpu = time.perf_counter(), time.process_time()
    for step in range(rows):
        recorder.log_step(step, make(step))
    looped = time.perf_counter() - began
    closed = recorder.close(timeout=600)
    return {
        "rows": rows, "dropped": recorder.dropped, "closed": closed, "loop_s": round(looped, 1),
        "all_s": round(time.perf_counter() - began, 1), "cpu_s": round(time.process_time() - cpu, 1),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "disk_mb": sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()) >> 20,
    }  # fmt: skip


def wrong(directory: Path, names: Iterable[str]) -> tuple[int, int]:
    """(rows that are read back, values or steps among them that are not what was logged)."""
    file = StepsFile.open(directory / "run" / "steps.parquet")
    rows = faults = 0
    last = -1
    for group in file.groups() if file else ():
        steps = group.steps
        rows += len(group)
        faults += int((np.diff(steps) <= 0).sum()) + int(steps[0] <= last)
        last = int(steps[-1])
        for name in names:
            factor = -1.0 if name == "b" else 0.5
            values, logged = group.columns[name]
            faults += int((~logged).sum()) + int((values != factor * steps).sum())
    return rows, faults


def case(name: str, rows: int, make: Callable[[int], Row]) -> bool:
    """Run one case and print it; whether it added up."""
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory(prefix="rlprobe-floods-") as folder:
        queue = context.SimpleQueue()
        process = context.Process(target=lambda: queue.put(flood(Path(folder), rows, make)))
        process.start()
        told = queue.get()
        process.join()
        read, faults = wrong(Path(folder), make(0))
    print(f"{name}: " + "  ".join(f"{key}={value}" for key, value in told.items()) + f"  read={read}  wrong={faults}")
    return bool(told["closed"]) and faults == 0 and read + told["dropped"] == rows


def main() -> None:
    """Print a line a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of two metrics")
    parser.add_argument("--names", type=int, default=10_000, help="metrics of 100 rows")
    arguments = parser.parse_args()
    sound = [
        case("rows of two metrics, tight loop", arguments.rows, scalars),
        case(f"{arguments.names} metrics a row", 100, many(arguments.names)),
    ]
    print(f"{sum(sound)} of {len(sound)} floods: recorded and dropped rows add up, every value is right")
    raise SystemExit(0 if all(sound) else 1)


if __name__ == "__main__":
    main()
