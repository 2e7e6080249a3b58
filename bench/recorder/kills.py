"""SIGKILL at random moments of a recording process, and at chosen calls to the disk; what is read back afterwards.

    python -m bench.recorder.kills [--n 50] [--seed 0] [--jobs 2]

Each child logs steps, samples and events as fast as its mode says, and writes before each call what it is about to hand
over, and after the call the time, to a shared memory map. It is killed, the recording is read, and checked:
every row handed over more than 200 ms before the process last ran is there, once, in order, with its values; so are its
samples and events; and nothing is there that was never about to be handed over. Half of the children take up the
recording that the last one left, whose rows must still be there. Time in which threads of the child were ready to run
and a loaded machine gave them no core does not count.

In the mode `calls` the child dies inside the n-th write, fsync, rename, unlink, mkdir or creation of a file, half of
the writes half done; what must be there is what a `flush` or `close` that returned has promised. It needs a C compiler.
"""

import argparse
import contextlib
import mmap
import os
import random
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

from tests.support import faults

from rlprobe.recorder import worker
from rlprobe.recorder.recorder import Recorder
from rlprobe.recording.convert import export  # noqa: F401  # imports what children need, once, in their parent
from rlprobe.recording.reader import RecordingFeed, UnreadableRecording
from rlprobe.recording.run import Run

GRACE = 0.2  # seconds; a row handed over earlier than this before the kill must be there
_HEADER = struct.Struct("<qqd")  # entries, how many of them a flush has promised, and when the child last ran
_ENTRY = struct.Struct("<qd")  # step, time of the hand-over
_ENTRIES = 20_000
_SESSION = 60  # steps after which the mode `calls` closes and takes the run up again
MODES = ("steps", "samples", "snapshots", "closing", "resumed", "calls")
_ORDER = ("steps", "resumed", "samples", "resumed", "calls", "calls", "snapshots", "resumed", "closing", "calls")
_PAUSES = {"steps": 0.001, "samples": 0.002, "snapshots": 0.0005, "closing": 0.0002, "resumed": 0.001, "calls": 0.001}
_CONTINUED = ("resumed", "calls")


@dataclass(slots=True)
class Found:
    """What a recording holds: steps, (step, sample) pairs, steps of events."""

    steps: set[int] = field(default_factory=set)
    samples: set[tuple[int, int]] = field(default_factory=set)
    events: set[int] = field(default_factory=set)
    wrong: int = 0
    unreadable: int = 0

    def lacks(self, other: "Found") -> int:
        """How much of `other` is not here."""
        return len(other.steps - self.steps) + len(other.samples - self.samples) + len(other.events - self.events)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One kill: what the child was doing, and what was found."""

    mode: str
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


class Ledger:
    """What a child says of itself while it lives: the steps it hands over, when, and what it was promised."""

    def __init__(self) -> None:
        self._map = mmap.mmap(-1, _HEADER.size + _ENTRIES * _ENTRY.size)
        self.count = 0

    def begin(self, step: int) -> None:
        """The step is about to be handed over."""
        _ENTRY.pack_into(self._map, _HEADER.size + self.count * _ENTRY.size, step, 0.0)
        self.count += 1
        struct.pack_into("<q", self._map, 0, self.count)

    def handed(self, step: int) -> None:
        """It was handed over."""
        now = self.alive()
        _ENTRY.pack_into(self._map, _HEADER.size + (self.count - 1) * _ENTRY.size, step, now)

    def alive(self) -> float:
        """The process runs now; returns the seconds in which its threads ran or had nothing to do."""
        now = time.monotonic() - _starved()
        struct.pack_into("<d", self._map, 16, now)
        return now

    def promised(self) -> None:
        """Everything so far survives the process."""
        struct.pack_into("<q", self._map, 8, self.count)

    def offered(self) -> list[int]:
        """Steps that may be there."""
        return [step for step, _ in self._entries()]

    def due(self, *, timed: bool) -> list[int]:
        """Steps that must be there: those that were promised, and where `timed` those that are old enough."""
        _, kept, alive = _HEADER.unpack_from(self._map)
        return [
            step
            for number, (step, when) in enumerate(self._entries())
            if number < kept or (timed and 0 < when < alive - GRACE)
        ]

    def _entries(self) -> list[tuple[int, float]]:
        count = _HEADER.unpack_from(self._map)[0]
        return [_ENTRY.unpack_from(self._map, _HEADER.size + index * _ENTRY.size) for index in range(count)]


def _starved() -> float:
    """Seconds in which threads of this process waited for a core so far; any of them may have held the others up."""
    waited = 0.0
    for thread in threading.enumerate():
        with contextlib.suppress(OSError):  # not Linux: nothing is known
            waited += int(Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text().split()[1]) / 1e9
    return waited


def expected(steps: Iterable[int], mode: str) -> Found:
    """What handing these steps over puts into a recording."""
    steps = set(steps)
    samples = {(step, i) for step in steps if step % 3 == 0 for i in range(4)} if mode != "steps" else set()
    return Found(steps=steps, samples=samples, events={step for step in steps if step % 10 == 0})


def child(run: Path, ledger: Ledger, mode: str, first: int) -> None:
    """Log until killed."""
    if mode in ("snapshots", *_CONTINUED):  # everything that happens every few seconds happens all the time
        worker._SNAPSHOT_EVERY = worker._SYNC_EVERY = 0.02  # type: ignore[misc]  # a bench may shorten what a run waits for
        worker._SNAPSHOT_SHARE = 0  # type: ignore[misc]
        worker._GROWTH = 0.0  # type: ignore[misc]
        worker._KEEP_EVERY = 0.02  # type: ignore[misc]
        worker._PART_ROWS = 8  # type: ignore[misc]
    recorder = Recorder(run)
    for step in range(first, first + _ENTRIES - 1):
        ledger.begin(step)
        if step % 10 == 0:
            recorder.log_event("custom", step, mine=step)
        if mode != "steps" and step % 3 == 0:
            recorder.log_samples(step, [{"completion": f"text {step} {i}", "reward": float(i)} for i in range(4)])
        recorder.log_step(step, {"a": step * 0.5, "b": float(-step), f"rare/{step % 7}": 1.0})
        ledger.handed(step)
        time.sleep(_PAUSES[mode])
        if mode == "closing" and ledger.count == 100:
            recorder.close()
            while ledger.alive():
                time.sleep(0.001)
        if mode == "calls" and ledger.count % 7 == 0 and recorder.flush():
            ledger.promised()
        if mode == "calls" and ledger.count % _SESSION == 0 and recorder.close():
            ledger.promised()
            recorder = Recorder(run)


def kill_once(run: Path, mode: str, generator: random.Random, first: int, before: Found) -> tuple[Outcome, int, Found]:
    """Start a child, have it killed, check what it left.

    Returns:
        the outcome, the step at which the next child begins, and what is in the recording now.
    """
    ledger = Ledger()
    pid = os.fork()
    if pid == 0:
        try:
            if mode == "calls":
                block = faults.of_its_own()
                block.die_half, block.die_at = generator.randrange(2), generator.randrange(1, 400)
            child(run, ledger, mode, first)
        finally:
            os._exit(1)
    delay = generator.uniform(0.1, 0.6)
    if mode != "calls":
        while not ledger.offered() and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            time.sleep(0.01)
        time.sleep(delay)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
        raise RuntimeError(f"a child of mode {mode} ended by itself: {status}")
    offered, due = ledger.offered(), ledger.due(timed=mode != "calls")
    found = read(run)
    must, may = expected(due, mode), expected(offered, mode)
    outcome = Outcome(
        mode=mode, handed=len(offered), due=len(due), read=len(found.steps - before.steps),
        missing=found.lacks(must) + found.lacks(before),
        invented=_union(may, before).lacks(found), wrong=found.wrong, unreadable=found.unreadable,
    )  # fmt: skip
    return outcome, first + len(offered), found


def _union(one: Found, other: Found) -> Found:
    return Found(one.steps | other.steps, one.samples | other.samples, one.events | other.events)


def read(run: Path) -> Found:
    """What the recording holds; `wrong` counts other values, other order, and whatever is there twice."""
    try:
        found = Run(RecordingFeed(run))
    except UnreadableRecording:  # killed before there was anything
        return Found()
    logged = found.logged("a")  # a row may be there because of its samples alone
    steps = found.steps[logged].tolist()
    columns = [found.column(name)[logged] for name in ("a", "b")]
    wrong = found.rewinds + sum(second <= one for one, second in pairwise(steps))
    wrong += sum(a != step * 0.5 or b != -step for step, a, b in zip(steps, *columns, strict=True))
    rows = found.samples(columns=("step", "sample", "completion"))
    samples = list(zip(rows.columns["step"], rows.columns["sample"], strict=True)) if rows.rows else []  # type: ignore[call-overload]  # two columns
    texts = rows.columns["completion"] if rows.rows else []
    wrong += sum(text != f"text {step} {i}" for (step, i), text in zip(samples, texts, strict=True))  # type: ignore[call-overload]  # a list of texts
    events = [int(str(event.fields["mine"])) for event in found.events if event.kind == "custom"]
    wrong += len(samples) - len(set(samples)) + len(events) - len(set(events))
    pairs = {(int(step), int(i)) for step, i in samples}
    return Found(set(steps), pairs, set(events), wrong, found.reading.unreadable)


def kills(count: int, seed: int) -> list[Outcome]:
    """Kill so many children in all modes, one after the other, in a directory of their own."""
    generator = random.Random(seed)
    out = []
    first, before = 0, Found()
    place = faults.place()
    modes = [mode for mode in _ORDER if place is not None or mode != "calls"]
    start = seed % len(modes)
    with tempfile.TemporaryDirectory(prefix="rlprobe-kills-", dir=place) as directory:
        run = Path(directory) / "run"
        for number in range(count):
            mode = modes[(start + number) % len(modes)]
            if mode not in _CONTINUED:
                shutil.rmtree(run, ignore_errors=True)
                first, before = 0, Found()
            outcome, first, before = kill_once(run, mode, generator, first, before)
            out.append(outcome)
            if not outcome.sound:
                print(f"kill {number} of seed {seed}: {outcome}", flush=True)
    return out


def main() -> None:
    """Print one line a mode."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=50, help="how many processes to kill")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    arguments = parser.parse_args()
    faults.restart_with(["-m", "bench.recorder.kills", *sys.argv[1:]])
    shares = [len(range(job, arguments.n, arguments.jobs)) for job in range(arguments.jobs)]
    seeds = [arguments.seed * 1001 + job * 5 for job in range(arguments.jobs)]
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("fork")) as pool:
        outcomes = [outcome for share in pool.map(kills, shares, seeds) for outcome in share]
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
