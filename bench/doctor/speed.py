"""How long a diagnosis takes, in CPU seconds of a fresh command line: `python -m bench.doctor.speed [--rows ...]`."""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bench.doctor.healthy import healthy_run
from rlprobe.doctor.engine import Doctor
from rlprobe.recording.convert import write_recording
from rlprobe.recording.run import Batch, MemoryFeed, Run


def measure(rows: tuple[int, ...] = (100_000,)) -> dict[str, object]:
    """Print CPU seconds and peak memory of `rlprobe doctor RUN`, and milliseconds of a live tick."""
    print("\n## Speed")
    out: dict[str, object] = {}
    for count in rows:
        with tempfile.TemporaryDirectory() as folder:
            run = healthy_run(0, steps=count, phi=0.3)
            target = Path(folder) / "run"
            write_recording(run, target)
            seconds, peak = _command(target)
            print(f"{count} rows x {len(run.metrics)} metrics: {seconds:.2f} s of CPU, {peak:.0f} MB at most")
            out[f"cpu_seconds_{count}"] = round(seconds, 2)
        tick = _tick(run)
        print(f"live tick after {count} rows: {tick:.1f} ms of CPU")
        out[f"tick_ms_{count}"] = round(tick, 1)
    return out


def _command(run: Path) -> tuple[float, float]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "rlprobe", "doctor", str(run), "--json", "--fail-on", "never"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, after.ru_maxrss / 1024


def _tick(run: Run, ticks: int = 50) -> float:
    """Milliseconds of CPU that one more row costs a doctor that has read the run."""
    columns = {name: (run.column(name), run.logged(name)) for name in run.metrics}
    feed = MemoryFeed("live", [Batch(steps=run.steps.copy(), columns=columns)])
    doctor = Doctor(Run(feed))
    doctor.update()
    spent = 0.0
    for i in range(ticks):
        last = {name: (values[-1:], logged[-1:]) for name, (values, logged) in columns.items()}
        feed.batches.append(Batch(steps=np.array([int(run.steps[-1]) + 1 + i]), columns=last))
        started = time.process_time()
        doctor.update()
        spent += time.process_time() - started
    return 1000 * spent / ticks


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    measure(tuple(parser.parse_args().rows))
