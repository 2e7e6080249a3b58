"""wandb: `run-ID.wandb` files and the run folders that hold them, also of runs that were killed.

Written by wandb's core process (field numbers read from wandb 0.31.0, `wandb/proto/wandb_internal.proto`); wandb itself
has no reader of it any more. History values are JSON text with the bare words NaN and Infinity. Traps: rows of metrics
with a step of their own (`train/global_step`) stand beside rows that only have wandb's count of log calls; the keys of
a row come in any order; a killed run has no exit record and a torn tail; a run that logged to its console only has rows
in `files/output.log`, whose lines wandb cuts at 4096 bytes.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from rlprobe.importers.binary.leveldb_log import LevelDbLog
from rlprobe.importers.binary.protobuf import fields, signed
from rlprobe.importers.folders.listing import listed
from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.calls import CallCount
from rlprobe.importers.rows.configuration import kept
from rlprobe.importers.rows.decode import Row, decode, row_of
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.lines import head_of, raw_head_of
from rlprobe.importers.rows.yaml import flat_yaml
from rlprobe.recording.run import Feed

NAME = "wandb"
EXPECTS = "wandb: a run-*.wandb file, or the folder of a run (wandb/run-*, offline-run-*)"
BINARY = True

_MAGIC: Final = b":W&B"
_HEADER_BYTES: Final = 7
_HISTORY, _CONFIG, _RUN, _EXIT = 2, 5, 17, 18  # Record
_ITEM_KEY, _ITEM_NESTED_KEY, _ITEM_VALUE = 1, 2, 16  # HistoryItem and ConfigItem
_RUN_ID, _RUN_CONFIG = 1, 4  # RunRecord
_MAX_KEYS: Final = 8192  # items of one row or configuration
_OWN: Final = frozenset({"_runtime", "_wandb"})  # bookkeeping, no metrics
_FALLBACK_HEAD: Final = 1 << 16


def sniff(path: Path, head: bytes) -> bool:
    """Whether the file has wandb's mark, or the folder holds such a file or the files of a run beside each other."""
    if head:
        return head.startswith(_MAGIC)
    return path.is_dir() and (_log_in(path) is not None or _is_run_folder(path))


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of a run's history; of its console where no history was logged."""
    folder = path if path.is_dir() else path.parent
    log = _log_in(path) if path.is_dir() else path
    aside = Aside()
    rows = _Rows(log, aside) if log is not None else None
    if (rows is None or rows.empty()) and _is_run_folder(folder):
        console = _console(folder, keys, run)
        if console is not None:
            console.aside.configuration.update(_configuration(folder) | aside.configuration)
            console.aside.state = aside.state
            return console
    if rows is None:
        raise ValueError(f"{path}: no log in the folder")
    return RowFeed(str(log), NAME, rows, keys, run, aside)


def _log_in(folder: Path) -> Path | None:
    names = [name for name in listed(folder).files if name.endswith(".wandb")]
    return next((folder / name for name in names if raw_head_of(folder / name, 4) == _MAGIC), None)


def _is_run_folder(folder: Path) -> bool:
    names = set(listed(folder / "files").files)
    return "output.log" in names and not names.isdisjoint({"config.yaml", "wandb-metadata.json", "requirements.txt"})


def _console(folder: Path, keys: Mapping[str, str] | None, run: int | None) -> RowFeed | None:
    """The feed of `files/output.log`, by whichever format recognises it."""
    from rlprobe.importers import reader_of  # which imports this module

    path = folder / "files" / "output.log"
    try:
        importer = reader_of(path, raw_head_of(path, _FALLBACK_HEAD), head_of(path, _FALLBACK_HEAD))
    except OSError:
        return None
    feed = importer.read(path, keys, run) if importer is not None else None
    return feed if isinstance(feed, RowFeed) else None


def _configuration(folder: Path) -> dict[str, object]:
    try:
        text = raw_head_of(folder / "files" / "config.yaml", _FALLBACK_HEAD * 4).decode("utf-8", "replace")
    except OSError:
        return {}
    values = {}
    for key, value in flat_yaml(text).items():  # each setting is held as NAME/value, beside NAME/desc
        name, _, below = key.partition("/")
        kind, _, inner = below.partition("/")
        if kind == "value" and not name.startswith("_wandb"):
            values[f"{name}/{inner}" if inner else name] = value
    return kept(values)


class _Rows:
    """The history rows of a .wandb file; what else it tells goes into the aside as it is met."""

    def __init__(self, path: Path, aside: Aside) -> None:
        self._log = LevelDbLog(path, start=_HEADER_BYTES)
        self._aside = aside
        self._ready: list[Row] = []
        self._calls = CallCount()
        self._bad_records = 0
        self.settings: Mapping[str, object] = {}

    @property
    def unreadable(self) -> int:
        """Chunks with a wrong checksum, records that were none, and an unfinished last one."""
        return self._log.damaged + self._bad_records + self._log.torn

    @property
    def notes(self) -> tuple[str, ...]:
        """How the run ended, where it did not end by itself."""
        notes = []
        if self._aside.state == "unknown":
            notes.append("the file has no exit record: the run was killed, or it still runs.")
        if self._log.restarts:
            notes.append(f"the file was replaced by a shorter one {self._log.restarts} times.")
        return tuple(notes)

    def empty(self) -> bool:
        """Whether the file has no history row so far."""
        self._fill(1)
        return not self._ready

    def take(self, limit: int) -> list[Row]:
        """The next rows."""
        self._fill(limit)
        taken, self._ready = self._ready[:limit], self._ready[limit:]
        return taken

    def _fill(self, count: int) -> None:
        while len(self._ready) < count and (records := self._log.take()):
            for record in records:
                try:
                    self._record(record)
                except ValueError:
                    self._bad_records += 1

    def _record(self, record: bytes) -> None:
        for number, _, _, data in fields(record):
            if number == _HISTORY:
                self._history(data)
            elif number == _CONFIG:
                self._take_configuration(data)
            elif number == _RUN:
                self._run(data)
            elif number == _EXIT:
                code = next((signed(value) for field, _, value, _ in fields(data) if field == 1), 0)
                self._aside.state = "crashed" if code else "closed"

    def _history(self, data: bytes) -> None:
        row: Row = dict(sorted((key, value) for key, value in _items(data) if key.partition("/")[0] not in _OWN))
        self._ready.append(self._calls.settle(row))

    def _run(self, data: bytes) -> None:
        for number, _, _, inner in fields(data):
            if number == _RUN_ID:
                self._aside.run_id = inner.decode("utf-8", "replace")
            elif number == _RUN_CONFIG:
                self._take_configuration(inner)

    def _take_configuration(self, data: bytes) -> None:
        values = dict(_items(data))
        self._aside.configuration.update(
            kept({key: value for key, value in values.items() if not key.startswith("_wandb")})
        )


def _items(data: bytes) -> Iterator[tuple[str, object]]:
    """(key, value) of the items in a history or configuration record, nested values flat."""
    count = 0
    for number, _, _, item in fields(data):
        count += 1
        if number != 1 or not item or count > _MAX_KEYS:
            continue
        key, nested, text = "", [], b""
        for field, _, _, inner in fields(item):
            if field == _ITEM_KEY:
                key = inner.decode("utf-8", "replace")
            elif field == _ITEM_NESTED_KEY:
                nested.append(inner.decode("utf-8", "replace"))
            elif field == _ITEM_VALUE:
                text = inner
        yield from _flat(key or "/".join(nested), decode(text))


def _flat(key: str, value: object) -> Iterator[tuple[str, object]]:
    if not isinstance(value, dict):
        yield key, value
    elif "_type" not in value:  # a table, an image, a histogram
        yield from (row_of({key: value}) or {}).items()
