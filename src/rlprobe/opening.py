"""Open anything that holds a run: a recording, or a foreign log that an importer knows."""

from collections.abc import Mapping
from pathlib import Path

from rlprobe.recording.run import Run


class UnreadableSource(ValueError):
    """The source cannot be read as a run; its message is one line that says what is wrong, where, and what to do."""


def open_run(source: str | Path, *, keys: Mapping[str, str] | None = None) -> Run:
    """The run that a recording directory or a foreign log holds.

    Args:
        source: a recording's directory, or a log file that an importer recognises by its content.
        keys: extra foreign key -> canonical metric name, for logs with names of their own.

    Raises:
        UnreadableSource: nothing is there, or nothing in it can be read as a run.
    """
    raise NotImplementedError
