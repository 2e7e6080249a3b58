"""What lies in a folder and below it: names only, a bounded number of them, and no link is followed."""

import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MAX_ENTRIES: Final = 20_000  # files and folders that are looked at
MAX_DEPTH: Final = 8  # folders below the one that was named


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """One folder: the names of the plain files and of the folders directly in it, in order."""

    path: Path
    files: tuple[str, ...]
    folders: tuple[str, ...]


def listed(path: Path) -> Folder:
    """The folder with what lies directly in it; empty where it cannot be read. Links are left out."""
    files: list[str] = []
    folders: list[str] = []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    files.append(entry.name)
                if len(files) + len(folders) >= MAX_ENTRIES:
                    break
    except OSError:
        pass  # gone, or not ours to read: as good as empty
    return Folder(path=path, files=tuple(sorted(files)), folders=tuple(sorted(folders)))


class Walk:
    """The folders from a root downwards, the nearest first; hidden ones are left out.

    Attributes:
        cut: whether the bound of entries was reached before everything was seen.
    """

    def __init__(self, root: Path) -> None:
        self._waiting = deque([(root, 0)])
        self._seen = 0
        self.cut = False

    def __iter__(self) -> Iterator[Folder]:
        while self._waiting:
            if self._seen >= MAX_ENTRIES:
                self.cut = True
                return
            path, depth = self._waiting.popleft()
            folder = listed(path)
            self._seen += 1 + len(folder.files) + len(folder.folders)
            below = [(path / name, depth + 1) for name in folder.folders if not name.startswith(".")]
            if depth < MAX_DEPTH:
                self._waiting.extend(below)
            yield folder

    def leave(self, folder: Folder) -> None:
        """Look at nothing below the folder that was handed out last."""
        names = set(folder.folders)
        while self._waiting and self._waiting[-1][0].parent == folder.path and self._waiting[-1][0].name in names:
            self._waiting.pop()
