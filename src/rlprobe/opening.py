"""Open anything that holds a run: a recording, or a foreign log that an importer knows."""

from collections.abc import Mapping
from pathlib import Path

from rlprobe.recording.run import Feed, Run

_HEAD_BYTES = 1 << 16  # what a format is recognised by


class UnreadableSource(ValueError):
    """The source cannot be read as a run; its message is one line that says what is wrong, where, and what to do."""


def open_run(source: str | Path, *, keys: Mapping[str, str] | None = None, run: int | None = None) -> Run:
    """The run that a recording directory or a foreign log holds.

    Args:
        source: a recording's directory, or a log file that an importer recognises by its content.
        keys: extra foreign key -> canonical metric name, for logs with names of their own.
        run: which of several runs appended in one log, counted from 1; None takes the last.

    Raises:
        UnreadableSource: nothing is there, or nothing in it can be read as a run.
    """
    path = Path(source)
    if path.is_dir():
        return Run(_recording(path))
    return Run(_foreign(path, keys, run))


def _recording(path: Path) -> Feed:
    from rlprobe.recording.reader import RecordingFeed

    feed: Feed = RecordingFeed(path)
    return feed


def _foreign(path: Path, keys: Mapping[str, str] | None, run: int | None) -> Feed:
    from rlprobe.importers import importers
    from rlprobe.importers.rows.lines import head_of

    head = head_of(path, _HEAD_BYTES)
    for importer in importers():
        if importer.sniff(path, head):
            return importer.read(path, keys, run)
    raise UnreadableSource(f"{path}: expected a log of metrics, got something else.")
