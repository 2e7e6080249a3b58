"""TensorBoard event files, without TensorBoard and TensorFlow: one file, or all files of one run's folder.

Written by torch.utils.tensorboard, tensorboardX, TensorFlow and everything on top of them (field numbers:
https://github.com/tensorflow/tensorboard/tree/2.21.0/tensorboard/compat/proto, event, summary and tensor). Traps: one
file a process or a resume, so that the files of a folder are merged by time; 32-bit floats, given back as the shortest
decimal that they stand for; keys filed under `train/`; a step that goes back after a resume. Text with the tag `args`
holds the trainer's arguments as JSON (transformers).
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np

from rlprobe.importers.binary.protobuf import BYTES, FIXED32, FIXED64, double, fields, float32, signed
from rlprobe.importers.binary.tfrecord import TfRecords, begins_with_record
from rlprobe.importers.folders.listing import listed
from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.configuration import kept
from rlprobe.importers.rows.decode import Row, decode, row_of
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.lines import raw_head_of
from rlprobe.importers.rows.points import Point, PointRows
from rlprobe.recording.run import Feed

NAME = "tensorboard"
EXPECTS = "TensorBoard: an event file (events.out.tfevents.*), or the folder with those of one run"
BINARY = True

_MAX_FILES: Final = 1_000  # of one run
_WALL_TIME, _STEP, _SUMMARY = 1, 2, 5  # Event
_VALUE: Final = 1  # Summary
_TAG, _SIMPLE, _TENSOR = 1, 2, 8  # Summary.Value
_CONTENT, _FLOATS, _DOUBLES, _STRINGS = 4, 5, 6, 8  # TensorProto
_ARGUMENTS: Final = frozenset({"args", "args/text_summary", "config", "config/text_summary"})
_OWN: Final = frozenset({"step", "wall_time"})


def sniff(path: Path, head: bytes) -> bool:
    """Whether the file begins with a record, or the folder holds an event file that does."""
    return begins_with_record(head) if head else path.is_dir() and bool(_files(path))


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of the scalars in a file, or in the files of a folder."""
    aside = Aside()
    return RowFeed(str(path), NAME, _Rows(path, aside), keys, run, aside)


def _files(folder: Path) -> list[Path]:
    names = [name for name in listed(folder).files if "tfevents" in name][:_MAX_FILES]
    return [folder / name for name in names if _is_event_file(folder / name)]


def _is_event_file(path: Path) -> bool:
    try:
        return begins_with_record(raw_head_of(path, 12))
    except OSError:
        return False


class _Rows:
    def __init__(self, path: Path, aside: Aside) -> None:
        self._path = path
        self._aside = aside
        self._files: dict[Path, TfRecords] = {}
        self._rows = PointRows(self._streams)
        self._bad_records = 0
        self.settings: Mapping[str, object] = {}

    @property
    def unreadable(self) -> int:
        """Records with a wrong checksum, records that were none, and unfinished last ones."""
        return self._bad_records + sum(each.damaged + each.torn for each in self._files.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """What was merged and what was left out."""
        notes = []
        if len(self._files) > 1:
            notes.append(f"{len(self._files)} event files are merged by time.")
        if long := sum(each.long for each in self._files.values()):
            notes.append(f"{long} records above 1 MiB (images, graphs) were left out.")
        return tuple(notes)

    def take(self, limit: int) -> list[Row]:
        """The next rows."""
        return self._rows.take(limit)

    def _streams(self) -> list[Iterator[Point]]:
        for path in _files(self._path) if self._path.is_dir() else [self._path]:
            self._files.setdefault(path, TfRecords(path))
        return [self._points(each) for each in self._files.values()]

    def _points(self, file: TfRecords) -> Iterator[Point]:
        while records := file.take():
            for record in records:
                try:
                    yield from self._event(record)
                except (ValueError, OverflowError):
                    self._bad_records += 1

    def _event(self, record: bytes) -> list[Point]:
        time, step, summaries = 0.0, 0, []
        for number, wire, value, data in fields(record):
            if number == _WALL_TIME and wire == FIXED64:
                time = double(data)
            elif number == _STEP:
                step = signed(value)
            elif number == _SUMMARY and wire == BYTES:
                summaries.append(data)
        time = time if math.isfinite(time) else 0.0
        points = []
        for summary in summaries:
            for number, _, _, inner in fields(summary):
                tag, scalar = self._value(inner) if number == _VALUE else ("", None)
                if scalar is not None and tag not in _OWN:
                    points.append(Point(time, step, tag, scalar))
        return points

    def _value(self, data: bytes) -> tuple[str, float | None]:
        tag, scalar, tensor = "", None, b""
        for number, wire, _, inner in fields(data):
            if number == _TAG and wire == BYTES:
                tag = inner.decode("utf-8", "replace")
            elif number == _SIMPLE and wire == FIXED32:
                scalar = shortest(float32(inner))
            elif number == _TENSOR and wire == BYTES:
                tensor = inner
        if tag in _ARGUMENTS:
            self._arguments(tensor)
        return tag, _scalar(tensor) if tensor else scalar

    def _arguments(self, tensor: bytes) -> None:
        for number, wire, _, data in fields(tensor):
            if number == _STRINGS and wire == BYTES and (row := row_of(decode(data.strip()))) is not None:
                self._aside.configuration.update(kept(row))


def _scalar(tensor: bytes) -> float | None:
    """The number that a tensor of one float or double holds; None for any other."""
    found = []
    for number, wire, _, data in fields(tensor):
        size = {_FLOATS: 4, _DOUBLES: 8}.get(number, len(data) if number == _CONTENT else 0)
        if (wire, len(data)) in ((BYTES, 4), (FIXED32, 4)) and size == 4:
            found.append(shortest(float32(data)))
        elif (wire, len(data)) in ((BYTES, 8), (FIXED64, 8)) and size == 8:
            found.append(double(data))
    return found[0] if len(found) == 1 else None


def shortest(value: float) -> float:
    """The number with the fewest decimal digits that the same 32-bit float stands for: 0.1 for the one nearest 0.1."""
    return float(str(np.float32(value))) if math.isfinite(value) else value
