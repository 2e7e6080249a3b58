"""100 runs under one watch: what a round costs with nothing new, and with a new row in each run."""

import json
import resource
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np

from bench.doctor.healthy import healthy_run
from rlprobe.guardian.sources import sources
from rlprobe.guardian.telling import Lines
from rlprobe.guardian.watching import Plan, Watch
from rlprobe.recording.files import WriterLock
from rlprobe.recording.journal import StepPayload, frame
from rlprobe.recording.layout import FORMAT, JOURNAL, LOGGED, MANIFEST, journal_name
from rlprobe.recording.run import Run

RUNS, HISTORY, ROUNDS = 100, 200, 8  # rows that are there already; rounds that are measured


class Growing:
    """A recording whose writer lives, or a JSONL log, that grows by a row of a simulated healthy run when told."""

    def __init__(self, root: Path, number: int) -> None:
        self.run: Run = healthy_run(number, steps=HISTORY + ROUNDS, phi=0.6)
        self._names = self.run.metrics
        self._table = np.column_stack([self.run.column(name) for name in self._names])
        self._recorded = number % 2 == 0
        self._path = root / f"run-{number:03d}" / "log.jsonl"
        self._row = 0
        self._path.parent.mkdir()
        if self._recorded:
            self._lock = WriterLock.take(self._path.parent)
            self._path = self._path.parent / JOURNAL / journal_name("steps", 0, 0)
            self._path.parent.mkdir()
            facts = {"format": FORMAT, "version": "1.0", "run_id": f"r{number}", "state": "recording"}
            facts |= {"algorithm": "grpo", "segments": [{"index": 0}]}
            (self._path.parents[1] / MANIFEST).write_text(json.dumps(facts))
        self.grow(HISTORY)

    def grow(self, rows: int) -> None:
        """Append the next rows."""
        with self._path.open("ab") as out:
            for _ in range(rows):
                out.write(self._frame() if self._recorded else self._line())
                self._row += 1

    def _frame(self) -> bytes:
        names = msgspec.Raw(msgspec.msgpack.encode([*self._names, "wall_time"]))
        values = np.append(self._table[self._row], time.time()).astype("<f8").tobytes()
        payload = StepPayload(LOGGED, self._row, self._row + 1, time.time(), names, values)
        return frame(msgspec.msgpack.encode(payload))

    def _line(self) -> bytes:
        row = dict(zip(self._names, self._table[self._row].tolist(), strict=True))
        return json.dumps({"step": self._row + 1, **row}).encode() + b"\n"


def measure() -> dict[str, object]:
    """Print CPU of opening and of rounds."""
    print(f"\n## {RUNS} runs on one core")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        runs = [Growing(root, number) for number in range(RUNS)]
        lines: list[str] = []
        watch = Watch(
            lambda: sources(root, {}, None),
            Plan(keep=False, interval=0.0),
            Lines(lines.append, several=True, page=None),
            clock=_Clock(),
        )
        opening = _cpu(lambda: _until_open(watch))
        idle = _cpu(lambda: _rounds(watch, ROUNDS)) / ROUNDS
        busy = 0.0
        for _ in range(ROUNDS):
            for run in runs:
                run.grow(1)
            busy += _cpu(lambda: _rounds(watch, 1)) / ROUNDS
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"opening and judging {RUNS} runs of {HISTORY} rows: {opening:.1f} s of CPU; {peak:.0f} MB at most")
    print(f"a round with nothing new: {1000 * idle:.0f} ms of CPU")
    print(f"a round with a new row in each run: {1000 * busy:.0f} ms, {1000 * busy / RUNS:.1f} ms a row")
    print(f"with a row every 30 s in each run and a round a second: {100 * (idle + busy / 30):.0f} % of one core")
    return {"crowd_idle_seconds": idle, "crowd_row_seconds": busy / RUNS}


class _Clock:
    """Each look at the clock is a second later, so that every run is due in every round."""

    def __init__(self) -> None:
        self._now = time.time()

    def __call__(self) -> float:
        self._now += 0.01
        return self._now


def _until_open(watch: Watch) -> None:
    while len(watch.diagnoses) < RUNS:
        watch.round()


def _rounds(watch: Watch, count: int) -> None:
    for _ in range(count):
        watch.round()


def _cpu(work: object) -> float:
    began = time.process_time()
    work()  # type: ignore[operator]  # a function without arguments
    return time.process_time() - began


if __name__ == "__main__":
    measure()
