"""verifiers' `traces.jsonl`: an episode of an evaluation or a rollout a line, with messages, rewards and log-probs.

Written by verifiers from 0.4 on, and by prime-rl, which names the training step. The samples of a step make one row; an
evaluation has no steps, so that all of it is step 0. The file is read as it is when it is opened.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from rlprobe.importers.folders.listing import listed
from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.decode import Row
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.json_rows import first_object
from rlprobe.importers.rows.lines import head_of
from rlprobe.importers.rows.sample_rows import SampleRow, samples_of
from rlprobe.importers.rows.traces import TraceFile, is_episode, placed, step_row
from rlprobe.recording.run import Feed, Samples

NAME = "verifiers"
EXPECTS = "verifiers' traces.jsonl, or the folder of an evaluation that holds one"

_TRACES: Final = "traces.jsonl"
_TEXTS: Final = frozenset({"prompt", "completion"})  # not held for the rows
_HEAD: Final = 4 << 20  # bytes; the first episode has to end in it


def sniff(path: Path, head: bytes) -> bool:
    """Whether the first line is an episode."""
    if path.is_dir():
        return _TRACES in listed(path).files and is_episode(first_object(head_of(path / _TRACES, _HEAD)))
    start = head.lstrip()[:1]
    return start == b"{" and b'"traces"' in head and is_episode(first_object(head_of(path, _HEAD)))


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of the one row that the samples make."""
    file = path / _TRACES if path.is_dir() else path

    def samples(step: int | None, columns: tuple[str, ...] | None) -> Samples:
        return samples_of(_samples(TraceFile(file), step), columns)

    return RowFeed(str(file), NAME, _Rows(file), keys, run, Aside(samples=samples))


def _samples(file: TraceFile, step: int | None) -> Iterator[SampleRow]:
    return (sample for sample in placed(file.take()) if step is None or sample["step"] == step)


class _Rows:
    notes: tuple[str, ...] = ("the rows are computed from the samples; they have no losses and no gradients.",)

    def __init__(self, path: Path) -> None:
        self._path = path
        self._given = False
        self.unreadable = 0
        self.settings: Mapping[str, object] = {}

    def take(self, limit: int) -> list[Row]:
        """The rows of all steps, once."""
        if self._given:
            return []
        self._given = True
        traces = TraceFile(self._path)
        by_step: dict[object, list[SampleRow]] = {}
        for sample in placed(traces.take()):
            by_step.setdefault(sample["step"], []).append({key: sample[key] for key in sample if key not in _TEXTS})
        self.unreadable = traces.unreadable
        return sorted((step_row(step, held) for step, held in by_step.items() if isinstance(step, int)), key=_step_of)


def _step_of(row: Row) -> int:
    step = row["step"]
    return step if isinstance(step, int) else 0
