"""A power loss, simulated: what was synced stays, what was not stays whole, in part, as zeros, or not at all.

The writer runs in this process and calls `os.fsync`, which is watched; nothing is ever really synced.
"""

import os
import random
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

from rlprobe import Recorder
from rlprobe.recorder.items import EventItem, Item, SamplesItem, StepItem
from rlprobe.recorder.sampling import SamplePolicy
from rlprobe.recorder.session import Session
from rlprobe.recording.reader import RecordingFeed, UnreadableRecording
from rlprobe.recording.run import Run

Names = dict[str, int]


@dataclass(slots=True)
class Platter:
    """What a disk holds for sure: of each file what was synced, of each directory the names it had when it was synced.

    Attributes:
        content: inode -> bytes.
        names: directory -> name -> inode.
    """

    content: dict[int, bytes] = field(default_factory=dict)
    names: dict[Path, Names] = field(default_factory=dict)
    _open: dict[int, int] = field(default_factory=dict)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Remember what is synced meanwhile."""
        with patch("os.fsync", self._synced):
            yield
        for descriptor in self._open.values():
            os.close(descriptor)

    def _synced(self, descriptor: int) -> None:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
            self.names[path] = names_of(path)
            return
        self.content[status.st_ino] = os.pread(descriptor, status.st_size, 0)
        if status.st_ino not in self._open:  # held open, so that no other file gets its inode
            self._open[status.st_ino] = os.dup(descriptor)

    def after_loss(self, root: Path, target: Path, generator: random.Random) -> None:
        """Lay out what may be found at `root` after the power failed now; what was not synced is drawn."""
        target.mkdir()
        now, kept = names_of(root), self.names.get(root, {})
        for name in sorted({*now, *kept}):
            chosen = [names.get(name) for names in (now, kept)]
            inode = generator.choice(chosen) if generator.random() < 0.5 else chosen[1]
            if inode is None:
                continue
            if (root / name).is_dir():
                self.after_loss(root / name, target / name, generator)
            else:
                (target / name).write_bytes(self._drawn(root / name, inode, generator))

    def _drawn(self, path: Path, inode: int, generator: random.Random) -> bytes:
        """The content that was synced, and of what was not a part of it, zeros in its place, or nothing."""
        kept = self.content.get(inode, b"")
        now = path.read_bytes() if path.exists() and path.stat().st_ino == inode else kept
        rest = now[len(kept) :][: generator.randrange(len(now) + 1)] if now.startswith(kept) else b""
        return kept + generator.choice([b"", rest, bytes(len(rest))])


def names_of(path: Path) -> Names:
    """Name -> inode of a directory's entries."""
    with os.scandir(path) as entries:
        return {entry.name: entry.inode() for entry in entries}


def items(step: int) -> list[Item]:
    """What is logged of one step."""
    samples = SamplesItem(step, 1.0, [{"completion": f"{step} {n}"} for n in range(2)])
    return [samples, StepItem(step, 1.0, {"a": step * 0.5}), EventItem("custom", step, 1.0, {"mine": step})]


def play(seed: int, folder: Path, losses: int = 8) -> int:
    """A writer that logs, syncs and makes snapshots in any order, and what is left when the power fails in between.

    Returns:
        how many losses were looked at.
    Raises:
        AssertionError: something that was synced is missing, doubled or wrong, or something was invented.
    """
    generator, platter = random.Random(seed), Platter()
    root = folder / "run"
    root.mkdir()
    logged = synced = looked = 0
    with platter.watching():
        document: dict[str, object] = {"run_id": "r", "state": "recording", "segments": [{"index": 0}]}
        writer = Session(root, 0, document, policy=SamplePolicy(), capture_text=True)
        writer.steps.limit = writer.samples.limit = 2000  # bytes of a journal file
        while looked < losses:
            action = generator.choice(["log", "log", "sync", "snapshot", "parts", "lose"])
            if action == "log":
                count = generator.randrange(1, 20)
                writer.write([item for step in range(logged, logged + count) for item in items(step)])
                logged += count
            elif action == "sync":
                writer.sync()
                synced = logged
            elif action == "snapshot":
                writer.snapshot()
            elif action == "parts":
                writer.write_parts()
            else:
                looked += 1
                target = folder / f"after-{looked}"
                platter.after_loss(root, target, generator)
                check(target, synced, logged)
                shutil.rmtree(target)
        writer.finish("closed")
        target = folder / "after-the-end"
        platter.after_loss(root, target, generator)
        check(target, logged, logged)
    return looked


def check(target: Path, synced: int, logged: int) -> None:
    """Hold what was found against the promise; then the run is taken up, and must still keep it."""
    look(target, synced, logged)
    with Recorder(target) as recorder:
        for step in range(logged, logged + 5):
            recorder.log_samples(step, [{"completion": f"{step} {n}"} for n in range(2)])
            recorder.log_step(step, {"a": step * 0.5})
            recorder.log_event("custom", step, mine=step)
    found = look(target, synced, logged + 5)
    assert set(range(logged, logged + 5)) <= found, "a row of the session that took the run up is missing"


def look(target: Path, synced: int, logged: int) -> set[int]:
    """The steps that are read back."""
    try:
        run = Run(RecordingFeed(target))
    except UnreadableRecording:
        assert synced == 0, "nothing can be read"
        return set()
    due, offered = set(range(synced)), set(range(logged))
    steps = run.steps[run.logged("a")].tolist() if "a" in run.metrics else []
    texts = run.samples(columns=("completion",)).columns.get("completion", [])
    told = [event.fields["mine"] for event in run.events if event.kind == "custom"]
    assert all(one < other for one, other in pairwise(steps)), "steps are not in order"
    assert due <= set(steps) <= offered, f"steps {sorted(due - set(steps))[:5]} missing or invented"
    assert run.column("a")[run.logged("a")].tolist() == [step * 0.5 for step in steps], "a value is wrong"
    pairs = {f"{step} {n}" for step in due for n in range(2)}
    assert pairs <= set(texts) <= {f"{step} {n}" for step in offered for n in range(2)}, "samples missing or invented"  # type: ignore[call-overload]  # a list of texts
    assert len(texts) == len(set(texts)), "a sample is there twice"  # type: ignore[arg-type,call-overload]  # as above
    assert due <= set(told) <= offered, "events missing or invented"
    assert len(told) == len(set(told)), "an event is there twice"
    return set(steps)
