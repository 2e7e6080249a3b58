"""verl's `trainer.rollout_data_dir` (and `validation_data_dir`): a file `STEP.jsonl` a step, an object a sample.

The rows of the run are what the samples tell: mean, spread and extremes of the score, and of every other number. The
file of the newest step is written in the background; it counts once it is whole.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from rlprobe.importers.rows.aside import Aside, SampleReader
from rlprobe.importers.rows.decode import Row, decode
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.json_rows import first_object
from rlprobe.importers.rows.lines import LineSource, head_of
from rlprobe.importers.rows.sample_rows import MAX_CHARACTERS, SampleRow, named, samples_of
from rlprobe.recording.run import Feed, Samples

NAME = "verl-rollouts"
EXPECTS = "the folder of verl's rollout_data_dir: STEP.jsonl with input, output and score of each sample"
CLUES = (b'"input"', b'"output"', b'"score"')

_FILE = re.compile(r"(\d{1,18})\.jsonl(?:\.gz)?")
_NEEDED: Final = frozenset({"input", "output", "score"})
_NAMES: Final = {"input": "prompt", "output": "completion", "score": "reward", "uid": "group"}
_MAX_BESIDE: Final = 1_000  # entries of a log's folder that are looked at
_HEAD: Final = 1 << 20  # bytes; the first sample has to end in it


def sniff(path: Path, head: bytes) -> bool:
    """Whether a folder's first STEP.jsonl, or this file, begins with a sample as verl writes it."""
    if path.is_dir():
        files = _files(path)
        head = head_of(files[0][1], _HEAD) if files else b""
    return set(first_object(head)) >= _NEEDED


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of the steps that the files tell; new files become new rows."""

    def samples(step: int | None, columns: tuple[str, ...] | None) -> Samples:
        return samples_of(_samples(path, step), columns)

    return RowFeed(str(path), NAME, _Rows(path), keys, run, Aside(samples=samples))


def samples_beside(log: Path) -> SampleReader:
    """Reads the samples of the folders beside a log that hold verl's rollouts, those of validation apart."""

    def samples(step: int | None, columns: tuple[str, ...] | None) -> Samples:
        return samples_of((row for folder in _beside(log) for row in _samples(folder, step)), columns)

    return samples


def _beside(log: Path) -> list[Path]:
    try:
        folders = sorted(each for each in islice(log.parent.iterdir(), _MAX_BESIDE) if each.is_dir())
        return [each for each in folders if not each.name.startswith("val") and sniff(each, b"")]
    except OSError:
        return []


class _Rows:
    """A row a file, in the order of steps."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._done: set[int] = set()
        self._partial: set[int] = set()
        self.unreadable = 0
        self.settings: Mapping[str, object] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the rows are made of, and which file is still being written."""
        made = "the rows are computed from the samples; they have no losses, gradients or lengths in tokens."
        waiting = [f"the samples of step {step} end in a cut line." for step in sorted(self._partial)]
        return (made, *waiting)

    def take(self, limit: int) -> list[Row]:
        """The next steps."""
        rows: list[Row] = []
        for step, path in _files(self._path):
            if step in self._done or len(rows) >= limit:
                continue
            samples, bad, cut = _read(path)
            if cut and step not in self._partial:
                self._partial.add(step)
            if cut and step == _files(self._path)[-1][0]:
                continue  # the newest file is still being written
            self._partial -= set() if cut else {step}
            self._done.add(step)
            self.unreadable += bad + cut
            if samples:
                rows.append(_row(step, samples))
        return rows


def _files(path: Path) -> list[tuple[int, Path]]:
    """(step, file) of a folder in the order of steps; of a file alone, that file."""
    inside = [path] if path.is_file() else list(path.iterdir()) if path.is_dir() else []
    found = [(int(match.group(1)), each) for each in inside if (match := _FILE.fullmatch(each.name)) is not None]
    if not found and path.is_file():
        found = [(0, path)]
    return sorted(found)


def _read(path: Path) -> tuple[list[SampleRow], int, bool]:
    """The samples of a file up to a bound of memory, lines that are none, and whether the last one is cut."""
    lines = LineSource(path)
    samples: list[SampleRow] = []
    bad = characters = 0
    while taken := lines.take(1024):
        characters += sum(map(len, taken))
        if characters > MAX_CHARACTERS:
            return samples, bad + 1, False
        for line in taken:
            value = decode(line)
            if isinstance(value, dict):
                samples.append(value)
            else:
                bad += 1
    tail = lines.take_tail().strip()
    last = decode(tail) if tail.endswith(b"}") else None
    if isinstance(last, dict):
        samples.append(last)
    return samples, bad, bool(tail) and not isinstance(last, dict)


def _row(step: int, samples: list[SampleRow]) -> Row:
    scores = _numbers(samples, "score")
    row: Row = {"step": step, "samples_count": len(samples)}
    if len(scores):
        row |= {
            "reward_mean": float(scores.mean()),
            "reward_max": float(scores.max()),
            "reward_min": float(scores.min()),
        }
        row["reward_std_batch"] = float(scores.std())
        row |= _of_groups(samples)
    for key in dict.fromkeys(key for sample in samples for key in sample):
        if key not in _NEEDED and key != "step" and len(values := _numbers(samples, key)):
            row[f"reward_component_mean/{key}"] = float(values.mean())
    return row


def _of_groups(samples: list[SampleRow]) -> Row:
    """Spread within the groups: samples of one uid, or of one prompt where there is none."""
    groups: dict[object, list[float]] = {}
    for sample in samples:
        score = sample.get("score")
        if isinstance(score, int | float):
            groups.setdefault(str(sample.get("uid", sample.get("input"))), []).append(float(score))
    several = [np.array(values) for values in groups.values() if len(values) > 1]
    if not several:
        return {}
    spreads = np.array([values.std(ddof=1) for values in several])
    return {
        "reward_std_group_mean": float(spreads.mean()),
        "zero_variance_group_fraction": float(np.mean(spreads == 0)),
    }


def _numbers(samples: list[SampleRow], key: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    values = [sample.get(key) for sample in samples]
    return np.array([value for value in values if isinstance(value, int | float)], dtype=np.float64)


def _samples(path: Path, step: int | None) -> Iterator[SampleRow]:
    for at, file in _files(path):
        if step is None or at == step:
            for place, sample in enumerate(_read(file)[0]):
                yield {**named(sample, _NAMES, at, place), "step": at}
