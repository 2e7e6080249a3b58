"""Open anything that holds a run: a recording, or a foreign log that an importer knows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rlprobe.recording.run import Feed, Run

_HEAD_BYTES: Final = 1 << 16  # what a format is recognised by
_MAX_LISTED: Final = 3  # names of a folder's content in a message
_MAX_SHOWN: Final = 40  # characters of foreign text in a message
_CONTROL_FRACTION: Final = 0.1  # of the head's bytes; text has next to none


class UnreadableSource(ValueError):
    """The source cannot be read as a run; its message is one line that says what is wrong, where, and what to do."""


def open_run(source: str | Path, *, keys: Mapping[str, str] | None = None, run: int | None = None) -> Run:
    """The run that a recording directory or a foreign log holds.

    Args:
        source: a recording's directory, a log that an importer recognises by its content, or a folder that holds one.
        keys: extra foreign key -> canonical metric name, for logs with names of their own.
        run: which of several runs appended in one log, counted from 1; None takes the last.

    Raises:
        UnreadableSource: nothing is there, or nothing in it can be read as a run.
    """
    path = Path(source)
    _check_keys(keys)
    if not path.exists():
        raise UnreadableSource(f"{path}: expected a recording or a log, got nothing. Check the path.")
    if path.is_dir():
        return _folder(path, keys, run)
    opened = Run(_foreign(path, keys, run))
    _check_content(path, opened, run)
    return opened


def _folder(path: Path, keys: Mapping[str, str] | None, run: int | None) -> Run:
    from rlprobe.recording.manifest import UnreadableRecording
    from rlprobe.recording.reader import RecordingFeed, is_recording

    try:
        if is_recording(path):
            return Run(RecordingFeed(path))
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
        raise UnreadableSource(f"{path}: expected a run number that the folder has, got {run}. {error}") from error
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


def _foreign(path: Path, keys: Mapping[str, str] | None, run: int | None) -> Feed:
    from rlprobe.importers import reader_of
    from rlprobe.importers.rows.lines import head_of, raw_head_of

    if not path.is_file():
        raise UnreadableSource(f"{path}: expected a file or a folder, got another kind of path. Name a log file.")
    try:
        raw, head = raw_head_of(path, _HEAD_BYTES), head_of(path, _HEAD_BYTES)
    except OSError as error:
        raise UnreadableSource(f"{path}: expected a readable file, got {error.strerror}. Check its rights.") from error
    if raw.strip() and (importer := reader_of(path, raw, head)) is not None:
        return importer.read(path, keys, run)
    if not head.strip():
        raise UnreadableSource(
            f"{path}: expected rows of metrics, got an empty file. Open it once training has logged."
        )
    raise UnreadableSource(_unknown(path, head))


def _unknown(path: Path, head: bytes) -> str:
    from rlprobe.importers import importers

    control = sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in head[:4096])
    if control > _CONTROL_FRACTION * len(head[:4096]):
        return f"{path}: expected a log in text form, got binary data ({head[:8].hex(' ')}). Export its rows as JSONL."
    by_name = {each.NAME: each.EXPECTS for each in importers()}
    line = head.decode("utf-8", "replace").strip().splitlines()[0]
    closest = "jsonl" if line[:1] in "{[" else "csv"
    shown = line if len(line) <= _MAX_SHOWN else line[:_MAX_SHOWN] + "..."
    known = "; ".join(by_name.values())
    return (
        f"{path}: expected one of {known}; got text that begins {shown!r}. Closest is {closest}: write one row a line."
    )


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
    if opened.rows or opened.manifest.configuration:
        return
    if run is not None:
        raise UnreadableSource(
            f"{path}: expected a run number that the log has, got {run}. Leave it out to read the last run."
        )
    unreadable = opened.reading.unreadable
    raise UnreadableSource(
        f"{path}: expected rows of metrics, got none ({unreadable} unreadable lines). Check that it is a training log."
    )
