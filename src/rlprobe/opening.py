"""Open anything that holds a run: a recording, or a foreign log that an importer knows."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rlprobe.recording.run import Feed, Run

if TYPE_CHECKING:
    from rlprobe.importers import Importer

_HEAD_BYTES: Final = (1 << 16, 1 << 23)  # what a format is recognised by: consoles may begin with megabytes of else
_STANDARD_INPUT: Final = "-"
_MAX_SPOOLED: Final = 4 << 30  # bytes of standard input
_MAX_LISTED: Final = 3  # names of a folder's content in a message
_MAX_SHOWN: Final = 40  # characters of foreign text in a message
_CONTROL_FRACTION: Final = 0.1  # of the head's bytes; text has next to none


class UnreadableSource(ValueError):
    """The source cannot be read as a run; its message is one line that says what is wrong, where, and what to do.

    Attributes:
        quoted: what the message quotes of the source's content, for those who may not show it; "" for nothing.
    """

    def __init__(self, message: str, quoted: str = "") -> None:
        super().__init__(message)
        self.quoted = quoted


def open_run(source: str | Path, *, keys: Mapping[str, str] | None = None, run: int | None = None) -> Run:
    """The run that a recording directory or a foreign log holds.

    Args:
        source: a recording's directory, a log that an importer recognises by its content, a folder that holds one, or
            "-" for standard input, which is read to its end.
        keys: extra foreign key -> canonical metric name, for logs with names of their own.
        run: which of several runs appended in one log, counted from 1; None takes the last.

    Raises:
        UnreadableSource: nothing is there, or nothing in it can be read as a run.
    """
    _check_keys(keys)
    if str(source) == _STANDARD_INPUT:
        return _standard_input(keys, run)
    path = Path(source)
    if not path.exists():
        raise UnreadableSource(f"{path}: expected a recording or a log, got nothing. Check the path.")
    if path.is_dir():
        return _folder(path, keys, run)
    opened = Run(_foreign(path, keys, run))
    _check_content(path, opened, run)
    return opened


def _folder(path: Path, keys: Mapping[str, str] | None, run: int | None) -> Run:
    from rlprobe.recording.manifest import UnreadableRecording
    from rlprobe.recording.rank_feed import RanksFeed
    from rlprobe.recording.reader import is_recording

    try:
        if is_recording(path):
            return Run(RanksFeed(path))
    except UnreadableRecording as error:
        raise UnreadableSource(str(error)) from error
    return _chosen(path, keys, run)


def _chosen(path: Path, keys: Mapping[str, str] | None, run: int | None) -> Run:
    """The run that is taken from a folder of foreign logs."""
    from rlprobe.importers.folders.choice import choose

    try:
        opened = choose(path, keys, run)
        inside = sorted(each.name for each in path.iterdir())[:_MAX_LISTED] or ["nothing"]
    except LookupError as error:
        raise UnreadableSource(f"{path}: {error.args[0]}") from error
    except OSError as error:
        raise UnreadableSource(
            f"{path}: expected a readable folder, got {error.strerror}. Check its rights."
        ) from error
    if opened is None:
        shown = ", ".join(name if name.isprintable() else repr(name) for name in inside)
        raise UnreadableSource(
            f"{path}: expected a recording, or a folder with the log of a run, got a folder with {shown}. "
            "Name the log file itself."
        )
    return opened


def _standard_input(keys: Mapping[str, str] | None, run: int | None) -> Run:
    """The run in what standard input gives, kept in a file for as long as it is read."""
    import sys
    import tempfile

    if sys.stdin is None or sys.stdin.isatty():
        raise UnreadableSource("-: expected a log on standard input, got a terminal. Pipe a log into the command.")
    with tempfile.TemporaryDirectory(prefix="rlprobe-") as folder:
        path = Path(folder) / "standard-input"
        taken = 0
        with path.open("wb") as file:
            while chunk := sys.stdin.buffer.read(1 << 20):
                taken += len(chunk)
                if taken > _MAX_SPOOLED:
                    bound = f"{_MAX_SPOOLED >> 30} GiB"
                    raise UnreadableSource(f"-: expected at most {bound} on standard input, got more. Name the file.")
                file.write(chunk)
        try:
            feed = _foreign(path, keys, run)
            feed.source = _STANDARD_INPUT
            opened = Run(feed)
            _check_content(path, opened, run)
        except UnreadableSource as error:
            raise UnreadableSource(str(error).replace(str(path), _STANDARD_INPUT), error.quoted) from None
    return opened


def _foreign(path: Path, keys: Mapping[str, str] | None, run: int | None) -> Feed:
    if not path.is_file():
        raise UnreadableSource(f"{path}: expected a file or a folder, got another kind of path. Name a log file.")
    try:
        importer, head = _recognised(path)
    except OSError as error:
        raise UnreadableSource(f"{path}: expected a readable file, got {error.strerror}. Check its rights.") from error
    if importer is not None:
        return importer.read(path, keys, run)
    if not head.strip():
        raise UnreadableSource(f"{path}: expected rows of metrics, got {_nothing(path)}")
    raise _unknown(path, head)


def _nothing(path: Path) -> str:
    """What a file is that has no text, and what to do."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    if packed:
        return "a gzip file of which nothing can be unpacked. Pack the log again."
    return "an empty file. Open it once training has logged."


def _recognised(path: Path) -> "tuple[Importer | None, bytes]":
    """The format of a file, None for an unknown one, and its beginning as text."""
    from rlprobe.importers import reader_of
    from rlprobe.importers.rows.lines import head_of, raw_head_of

    head = b""
    for size in _HEAD_BYTES:
        raw, longer = raw_head_of(path, size), head_of(path, size)
        if len(longer) == len(head):
            break
        head = longer
        if raw.strip() and (importer := reader_of(path, raw, head)) is not None:
            return importer, head
    return None, head


def _unknown(path: Path, head: bytes) -> UnreadableSource:
    from rlprobe.importers import importers

    control = sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in head[:4096])
    if control > _CONTROL_FRACTION * len(head[:4096]):
        begin = head[:8].hex(" ")
        return UnreadableSource(
            f"{path}: expected a log in text form, got binary data ({begin}). Export its rows as JSONL.", begin
        )
    line = head.decode("utf-8", "replace").strip().splitlines()[0]
    shown = line if len(line) <= _MAX_SHOWN else line[:_MAX_SHOWN] + "..."
    closest, expects = _closest(head, "jsonl" if line[:1] in "{[" else "csv")
    known = ", ".join(each.NAME for each in importers())
    return UnreadableSource(
        f"{path}: expected a training log ({known}), got text that begins {shown!r}. "
        f"Closest is {closest}: it takes {expects}.",
        repr(shown),
    )


def _closest(head: bytes, otherwise: str) -> tuple[str, str]:
    """The format most of whose tell-tale words stand in a head, and what it expects."""
    from rlprobe.importers import importers

    clues = {each: sum(clue in head for clue in getattr(each, "CLUES", ())) for each in importers()}
    best = max(clues, key=lambda each: (clues[each], otherwise == each.NAME))
    return best.NAME, best.EXPECTS


def _check_keys(keys: Mapping[str, str] | None) -> None:
    from rlprobe.recording.metrics import METRICS, find, member

    for theirs, ours in (keys or {}).items():
        if find(ours) is None or member(ours) == "":
            import difflib

            close = difflib.get_close_matches(ours, [metric.name for metric in METRICS], n=1)
            hint = f"Did you mean {close[0]}?" if close else "See docs/importing.md for the names."
            raise UnreadableSource(f"{theirs}={ours}: expected a canonical metric name, got {ours!r}. {hint}")


def _check_content(path: Path, opened: Run, run: int | None) -> None:
    """Refuse what could be read but holds no row of numbers."""
    if opened.rows or (opened.manifest.configuration and run is None):
        return
    if run is not None:
        raise UnreadableSource(
            f"{path}: expected a run number that the log has, got {run}. Leave it out to read the last run."
        )
    unreadable = opened.reading.unreadable
    raise UnreadableSource(
        f"{path}: expected rows of metrics, got none ({unreadable} unreadable lines). Check that it is a training log."
    )
