"""Every run under a folder: what is one run by itself, and the files that have the name of a log."""

import os
from collections.abc import Iterator
from pathlib import Path

from rlprobe.importers import reader_of_folder
from rlprobe.recording.reader import is_recording

LOGS = (".jsonl", ".json", ".csv", ".log", ".txt", ".db")  # endings of files that are tried, also with .gz after them


def runs_under(root: str | Path) -> Iterator[Path]:
    """Folders that are one run and files that may be one, in order; a run's folder is not searched, links are not
    followed, hidden folders are left out.
    """
    for directory, folders, files in os.walk(root):
        if is_recording(directory) or reader_of_folder(Path(directory)) is not None:
            folders.clear()
            yield Path(directory)
            continue
        folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
        yield from (Path(directory, name) for name in sorted(files) if name.removesuffix(".gz").endswith(LOGS))
