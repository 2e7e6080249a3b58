"""SIGKILL at random moments of a recording process; what is read back afterwards.

    python -m bench.recorder.kills [--n 50] [--seed 0]

Each child logs steps (and samples) as fast as the case says and writes, before each call, the step it is about to hand
over, and after the call the time, to a shared memory map. The parent kills it, reads the recording and checks:
every row handed over more than 200 ms before the kill is there, once, in order, with its values; and no row is there
that was never about to be handed over. Half of the children take up the recording that the last one left, whose
rows must still be there.
"""

import argparse
import mmap
import os
import random
import shutil
import signal
import struct
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from rlprobe.recorder import worker
from rlprobe.recorder.recorder import Recorder
from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Run

GRACE = 0.2  # seconds; a row handed over earlier than this before the kill must be there
_ENTRY = struct.Struct("<qd")  # step, time of the hand-over
_ENTRIES = 400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One kill: what the child was doing, and what was found."""

    mode: str
    seconds: float
    handed: int
    due: int
    read: int
    missing: int
    invented: int
    wrong: int
    unreadable: int

    @property
    def sound(self) -> bool:
        """Whether the promise held."""
        return not (self.missing or self.invented or self.wrong)


MODES = ("steps", "samples", "snapshots", "closing", "resumed")
_ORDER = ("steps", "resumed", "samples", "resumed", "snapshots", "resumed", "resumed", "closing")
_PAUSES = {"steps": 0.001, "samples": 0.01, "snapshots": 0.0005, "closing": 0.0002, "resumed": 0.001}


def child(run: Path, shared: mmap.mmap, mode: str, first: int) -> None:
    """Log until killed."""
    if mode in ("snapshots", "resumed"):  # everything that happens every few seconds happens all the time
        worker._SNAPSHOT_EVERY = 0.02  # type: ignore[misc]  # a bench may shorten what a run waits for
        worker._SNAPSHOT_SHARE = 0  # type: ignore[misc]
        worker._GROWTH = 0.0  # type: ignore[misc]
        worker._KEEP_EVERY = 0.02  # type: ignore[misc]
        worker._PART_ROWS = 8  # type: ignore[misc]
    recorder = Recorder(run)
    for count, step in enumerate(range(first, first + _ENTRIES - 1)):
        _ENTRY.pack_into(shared, 8 + count * _ENTRY.size, step, 0.0)
        struct.pack_into("<q", shared, 0, count + 1)
        recorder.log_step(step, {"a": step * 0.5, "b": float(-step), f"rare/{step % 7}": 1.0})
        if mode != "steps" and step % 3 == 0:
            recorder.log_samples(step, [{"completion": f"text {step} {i}", "reward": float(i)} for i in range(4)])
        _ENTRY.pack_into(shared, 8 + count * _ENTRY.size, step, time.monotonic())
        time.sleep(_PAUSES[mode])
        if mode == "closing" and count == 600:
            recorder.close()
            time.sleep(60)


def kill_once(
    directory: Path, mode: str, generator: random.Random, first: int, before: set[int]
) -> tuple[Outcome, int, set[int]]:
    """Start a child, kill it, check what it left.

    Returns:
        the outcome, the step at which the next child begins, and the steps that are in the recording now.
    """
    run = directory / "run"
    shared = mmap.mmap(-1, 8 + _ENTRIES * _ENTRY.size)
    pid = os.fork()
    if pid == 0:
        try:
            child(run, shared, mode, first)
        finally:
            os._exit(1)
    delay = generator.uniform(0.15, 1.5)
    time.sleep(delay)
    killed = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    (count,) = struct.unpack_from("<q", shared, 0)
    entries = [_ENTRY.unpack_from(shared, 8 + index * _ENTRY.size) for index in range(count)]
    outcome, steps = judge(run, mode, delay, entries, killed, before)
    return outcome, first + count, steps


def judge(
    run: Path, mode: str, delay: float, entries: list[tuple[int, float]], killed: float, before: set[int]
) -> tuple[Outcome, set[int]]:
    """Compare what was handed over with what is read back."""
    due = {step for step, handed in entries if 0 < handed < killed - GRACE}
    offered = {step for step, _ in entries}
    if not run.exists() or not any(run.iterdir()):
        missing = len(due | before)
        return Outcome(mode=mode, seconds=delay, handed=len(offered), due=len(due), read=0, missing=missing, invented=0,
                       wrong=0, unreadable=0), set()  # fmt: skip
    found = Run(RecordingFeed(run))
    steps = found.steps.tolist()
    wrong = sum(
        value != step * 0.5 or other != -step
        for step, value, other in zip(found.steps, found.column("a"), found.column("b"), strict=True)
    )
    wrong += sum(second <= one for one, second in pairwise(steps)) + found.rewinds
    outcome = Outcome(
        mode=mode,
        seconds=delay,
        handed=len(offered),
        due=len(due),
        read=len(steps) - len(before),
        missing=len((due | before) - set(steps)),
        invented=len(set(steps) - offered - before),
        wrong=wrong,
        unreadable=found.reading.unreadable,
    )
    return outcome, set(steps)


def kills(count: int, seed: int, directory: Path) -> list[Outcome]:
    """Kill so many children in all modes, one after the other."""
    generator = random.Random(seed)
    out = []
    first, before = 0, set[int]()
    for number in range(count):
        mode = _ORDER[number % len(_ORDER)]
        if mode != "resumed":
            shutil.rmtree(directory / "run", ignore_errors=True)
            first, before = 0, set()
        outcome, first, before = kill_once(directory, mode, generator, first, before)
        out.append(outcome)
    return out


def main() -> None:
    """Print one line a mode."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=50, help="how many processes to kill")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rlprobe-kills-") as directory:
        outcomes = kills(arguments.n, arguments.seed, Path(directory))
    print("mode        kills   handed      due     read  missing invented    wrong     torn")
    for mode in MODES:
        own = [outcome for outcome in outcomes if outcome.mode == mode]
        sums = [sum(getattr(outcome, name) for outcome in own) for name in _SUMS]
        print(f"{mode:10} {len(own):6} " + " ".join(f"{number:8}" for number in sums))
    sound = sum(outcome.sound for outcome in outcomes)
    print(
        f"{sound} of {len(outcomes)} kills: every row handed over {1000 * GRACE:.0f} ms before was read once, in order"
    )
    raise SystemExit(0 if sound == len(outcomes) else 1)


_SUMS = ("handed", "due", "read", "missing", "invented", "wrong", "unreadable")

if __name__ == "__main__":
    main()
