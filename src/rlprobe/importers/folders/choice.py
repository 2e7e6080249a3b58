"""The runs in a folder, and which of them is taken.

A recording, or a folder that a format recognises as one of its runs, stands for all that lies below it. Of other files
those count that a format recognises and whose beginning names a metric. Of several formats the one that tells most is
taken, of its runs the newest, or run N counted from the oldest; the notes say so.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rlprobe.importers import reader_of, reader_of_folder
from rlprobe.importers.folders.listing import MAX_ENTRIES, Folder, Walk
from rlprobe.importers.rows.lines import head_of, raw_head_of
from rlprobe.importers.rows.plan import knows_metric
from rlprobe.recording.metrics import find
from rlprobe.recording.rank_feed import RanksFeed
from rlprobe.recording.reader import is_recording
from rlprobe.recording.run import Batch, Feed, Run, Samples

RECORDING: Final = "recording"
_RICHEST: Final = (RECORDING, "wandb")  # formats with the configuration beside every row
# or endings
_POOREST: Final = ("tensorboard", "notebook", "-console", "json", "csv", "verifiers", "verl-rollouts", "step-lines")
_TEXT_FORMATS: Final = frozenset({"csv", "json", "jsonl"})  # formats that take any keys
_MAX_FILES: Final = 2_000  # files whose beginning is read
_HEAD_BYTES: Final = 1 << 14
_MAX_KEYS: Final = 400  # keys of a beginning that are looked up
_MAX_LISTED: Final = 12  # runs that a note lists
_MAX_NAMED: Final = 3  # logs that a message names
_KEY = re.compile(rb'"([^"\\]{1,120})"\s*:')


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something in a folder that is read as a run; `time` is when it was last written, seconds since 1970."""

    path: Path
    format: str
    time: float

    def open(self, keys: Mapping[str, str] | None, run: int | None) -> Feed | None:
        """Its feed; None when it changed so that no format knows it any more."""
        if self.format == RECORDING:
            return RanksFeed(self.path)
        if self.path.is_dir():
            importer = reader_of_folder(self.path)
        else:
            importer = reader_of(self.path, raw_head_of(self.path, _HEAD_BYTES), head_of(self.path, _HEAD_BYTES))
        return None if importer is None else importer.read(self.path, keys, run)


@dataclass(slots=True)
class NotedFeed:
    """A feed whose reading says also why it is the one that is read."""

    source: str
    feed: Feed
    notes: tuple[str, ...]

    def poll(self) -> Batch | None:
        """The next rows, or None when there is nothing new."""
        batch = self.feed.poll()
        if batch is None or batch.reading is None:
            return batch
        return replace(batch, reading=replace(batch.reading, notes=self.notes + batch.reading.notes))

    def samples(self, *, step: int | None, columns: tuple[str, ...] | None) -> Samples:
        """Sample rows of the feed."""
        return self.feed.samples(step=step, columns=columns)


def candidates(root: Path) -> tuple[list[Candidate], bool]:
    """What in the folder looks like a run, those that tell most first and of these the newest; and whether the
    bound of entries was reached."""
    walk = Walk(root)
    found: list[Candidate] = []
    files = 0
    for folder in walk:
        if (claimed := _claimed(folder)) is not None:
            found.append(claimed)
            walk.leave(folder)
            continue
        files += len(folder.files)
        if files > _MAX_FILES:
            walk.cut = True
            break
        found.extend(_files(folder))
    return sorted(
        sorted(found, key=lambda each: (each.time, str(each.path)), reverse=True), key=lambda each: _rank(each.format)
    ), walk.cut


def choose(root: Path, keys: Mapping[str, str] | None, run: int | None) -> Run | None:
    """The run that is taken from a folder; None when nothing in it looks like a run.

    Raises:
        LookupError: what looks like a run holds no rows, or `run` is beyond the runs that are there.
    """
    found, cut = candidates(root)
    for format in dict.fromkeys(each.format for each in found):
        group = [each for each in found if each.format == format]
        oldest_first = group[::-1]
        several = len(group) > 1
        if several and run is not None:
            if run > len(group):
                raise LookupError(
                    f"expected a run number from 1 to {len(group)}, got {run}. There are {_listed(root, oldest_first)}."
                )
            group = [oldest_first[run - 1]]
        for each in group:
            notes = tuple(_notes(root, each, oldest_first, found, cut=cut))
            if (opened := _opened(each, notes, keys, None if several else run)) is not None:
                return opened
    if not found:
        return None
    names = ", ".join(f"{_name(root, each)} ({each.format})" for each in found[:_MAX_NAMED])
    which = "" if run is None else f" of run {run}"
    raise LookupError(f"expected rows of metrics{which}, got none in {names}. Check that training has logged.")


def _claimed(folder: Folder) -> Candidate | None:
    if is_recording(folder.path):
        return Candidate(path=folder.path, format=RECORDING, time=_newest(folder))
    importer = reader_of_folder(folder.path)
    return None if importer is None else Candidate(path=folder.path, format=importer.NAME, time=_newest(folder))


def _files(folder: Folder) -> Iterator[Candidate]:
    for name in folder.files:
        path = folder.path / name
        try:
            if not path.stat().st_size:
                continue  # nothing in it, or a file of the system whose reading may wait for ever
            raw, head = raw_head_of(path, _HEAD_BYTES), head_of(path, _HEAD_BYTES)
            importer = reader_of(path, raw, head) if raw.strip() else None
            if importer is not None and (importer.NAME not in _TEXT_FORMATS or _names_metric(head)):
                yield Candidate(path=path, format=importer.NAME, time=path.stat().st_mtime)
        except OSError:
            continue  # not ours to read


def _names_metric(head: bytes) -> bool:
    keys = {match.group(1).decode("utf-8", "replace") for match in _KEY.finditer(head)}
    if not keys:
        keys = set(re.split(r"[,\t;|]", head.partition(b"\n")[0].decode("utf-8", "replace")))
    return any(knows_metric(key) for key in sorted(keys)[:_MAX_KEYS])


def _newest(folder: Folder) -> float:
    times = [0.0]
    for name in folder.files:
        try:
            times.append((folder.path / name).stat().st_mtime)
        except OSError:
            continue  # removed since it was listed
    return max(times)


def _rank(format: str) -> tuple[int, str]:
    """Where a format stands: poor are rounded numbers, steps that are counted, and rows computed from samples."""
    if format in _RICHEST:
        return _RICHEST.index(format), format
    poor = next((place for place, ending in enumerate(_POOREST, 1) if format.endswith(ending)), 0)
    return len(_RICHEST) + poor, format


def _opened(each: Candidate, notes: tuple[str, ...], keys: Mapping[str, str] | None, run: int | None) -> Run | None:
    try:
        feed = each.open(keys, run)
    except (OSError, ValueError):
        return None  # the next candidate is tried; a recording that cannot be read says so when it is named itself
    if feed is None:
        return None
    opened = Run(NotedFeed(feed.source, feed, notes))
    return opened if opened.rows and any(find(name) is not None for name in opened.metrics) else None


def _notes(root: Path, taken: Candidate, group: list[Candidate], found: list[Candidate], *, cut: bool) -> list[str]:
    notes = []
    if len(group) > 1:
        why = "the newest" if taken is group[-1] else f"run {group.index(taken) + 1}"
        notes.append(f"{_listed(root, group)}; {why} is read: {_name(root, taken)}.")
    elif taken.path != root:
        notes.append(f"{_name(root, taken)} ({taken.format}) is read of this folder.")
    others = list(dict.fromkeys(each.format for each in found if each.format != taken.format))
    if others:
        notes.append(f"the folder also holds {', '.join(others)}, which tell no more; name the file to read one.")
    if cut:
        notes.append(
            f"the folder has more than {MAX_ENTRIES} entries or {_MAX_FILES} files; the rest was not looked at."
        )
    return notes


def _listed(root: Path, group: list[Candidate]) -> str:
    shown = ", ".join(f"{index}: {_name(root, each)}" for index, each in enumerate(group[:_MAX_LISTED], 1))
    more = f" and {len(group) - _MAX_LISTED} more" if len(group) > _MAX_LISTED else ""
    return f"{len(group)} runs of format {group[0].format}, oldest first ({shown}{more})"


def _name(root: Path, each: Candidate) -> str:
    return each.path.relative_to(root).as_posix() if each.path != root else "the folder itself"
