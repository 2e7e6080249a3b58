"""What a recorder takes from a training loop: `python -m bench.recorder.overhead [--rounds 3] [--only NAME]`.

The same loop runs bare, with a list that keeps a copy of each step's metrics (as trainers do with their history), and
with a recorder, each in a process of its own, turn by turn. A step is work until so many milliseconds of wall time have
passed. Three numbers are told for each loop:

- *recorder*: CPU time of the calls on the training thread and of the recorder's own threads, from the first step to
  the end of close(), as a percentage of the steps' time. It is the most that training can lose where the recorder has
  no core to itself, and it is what is promised: a busy machine makes it larger, but not meaningless.
- *less work*: how much less work is done in the same time with a recorder than without. The noise of the machine is in
  it.
- *of a list*: the same for the list. Work that makes numbers in Python slows down where others are kept beside it,
  whoever keeps them.
"""

import argparse
import multiprocessing
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.queues import SimpleQueue
from pathlib import Path

from bench.recorder.speed import busy_numpy, recorder_threads, samples, scalars, thread_seconds
from rlprobe import Recorder

_WARM_UP = 1.0  # seconds in which the one-off capture of the environment ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """One training loop: what a step does and how long, what is logged of it, and the promised percentage."""

    name: str
    work: Callable[[], None]
    milliseconds: float
    steps: int
    promise: float
    arrays: int | None = None  # token arrays of each of 64 samples a step; None logs no samples
    capture: str = "default"


def busy_python() -> None:
    """A fraction of a millisecond of work that holds the interpreter's lock."""
    total = 0
    for number in range(2000):
        total += number * number


LOOPS = (
    Loop(name="10 ms, scalars, busy in Python", work=busy_python, milliseconds=10, steps=1000, promise=1.0),
    Loop(name="10 ms, scalars, busy in numpy", work=busy_numpy, milliseconds=10, steps=1000, promise=1.0),
    Loop(
        name="100 ms, scalars and 64 samples", work=busy_python, milliseconds=100, steps=100, promise=2.0, arrays=1
    ),
    Loop(
        name="1 s, scalars and 64 samples with five token arrays, all kept",
        work=busy_python, milliseconds=1000, steps=15, promise=0.5, arrays=5, capture="all",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one run: its seconds, units of work a second, CPU seconds of the calls and of the recorder's threads."""

    wall: float
    rate: float
    calls: float = 0.0
    threads: float = 0.0


def run(loop: Loop, kind: str, told: "SimpleQueue[Cost]") -> None:
    """One run of a kind ("bare", "list", "recorder"), in a process of its own."""
    made = [samples(loop.arrays)(index) for index in range(4)] if loop.arrays is not None else []
    folder = Path(tempfile.mkdtemp(prefix="rlprobe-overhead-"))
    recorder = Recorder(folder / "run", capture=loop.capture) if kind == "recorder" else None  # type: ignore[arg-type]  # of the table above
    history: list[dict[str, float]] = []
    time.sleep(_WARM_UP)
    own = recorder_threads()
    before, calls, units, began = thread_seconds(own), 0.0, 0, time.perf_counter()
    for step in range(loop.steps):
        ends = time.perf_counter() + loop.milliseconds / 1e3
        while time.perf_counter() < ends:
            loop.work()
            units += 1
        metrics = scalars(step)
        if kind == "list":
            history.append(metrics.copy())
        if recorder is not None:
            called = time.thread_time()
            recorder.log_step(step, metrics)
            if made:
                recorder.log_samples(step, made[step % len(made)], owned=True)  # type: ignore[arg-type]  # rows
            calls += time.thread_time() - called
    wall = time.perf_counter() - began
    at_work = thread_seconds(own) - before
    closing = time.process_time()
    if recorder is not None:
        recorder.close()  # the writer ends in here, and its clock with it: all that is spent meanwhile is its
    closed = time.process_time() - closing
    shutil.rmtree(folder)
    told.put(Cost(wall=wall, rate=units / wall, calls=calls, threads=at_work + closed))


def measured(loop: Loop, kind: str) -> Cost:
    """One run's cost."""
    context = multiprocessing.get_context("fork")
    told = context.SimpleQueue()
    process = context.Process(target=run, args=(loop, kind, told))
    process.start()
    found: Cost = told.get()
    process.join()
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="loops whose name contains this")
    arguments = parser.parse_args()
    print(f"{datetime.now(UTC):%d %B %Y}, load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print("| step, and what is logged | promised | recorder | of it calls, us a step | less work | of a list |")
    print("|---|---|---|---|---|---|")
    for loop in LOOPS:
        if arguments.only not in loop.name:
            continue
        rounds = [[measured(loop, kind) for kind in ("bare", "list", "recorder")] for _ in range(arguments.rounds)]
        share = statistics.median(100 * (cost.calls + cost.threads) / cost.wall for _, _, cost in rounds)
        calls = statistics.median(1e6 * cost.calls / loop.steps for _, _, cost in rounds)
        less = _less([(bare, cost) for bare, _, cost in rounds])
        print(
            f"| {loop.name} | {loop.promise:g} % | {share:.2f} % | {calls:.0f} "
            f"| {less} | {_less([(bare, kept) for bare, kept, _ in rounds])} |",
            flush=True,
        )


def _less(pairs: list[tuple[Cost, Cost]]) -> str:
    """How much less work the second of each pair did: median, least, most."""
    less = sorted(100 * (1 - cost.rate / bare.rate) for bare, cost in pairs)
    return f"{statistics.median(less):+.1f} % ({less[0]:+.1f}, {less[-1]:+.1f})"


if __name__ == "__main__":
    main()
