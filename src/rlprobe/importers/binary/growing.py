"""A file that other processes append to, read at a position; open only while bytes are taken from it."""

import os
from pathlib import Path


class GrowingFile:
    """Bytes of a file from a position on. A file that became shorter was replaced: `restarts` counts it.

    Attributes:
        restarts: how often the file was found shorter than before.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = 0
        self.restarts = 0

    def size(self) -> int:
        """Bytes of the file now; what it was before while it cannot be seen."""
        try:
            size = os.stat(self._path).st_size
        except OSError:
            return self._size
        if size < self._size:
            self.restarts += 1
        self._size = size
        return size

    def read(self, position: int, count: int) -> bytes:
        """At most so many bytes from a position on; none where there are none."""
        try:
            with open(self._path, "rb") as file:
                file.seek(position)
                return file.read(count)
        except OSError:
            return b""
