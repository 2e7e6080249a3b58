"""The folder that is served. Nothing outside is read, whatever a path or a link says."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MOST_ENTRIES = 20_000  # files and folders that are looked at for links before a source is opened
BESIDE, BELOW = 1, 8  # folders deep that an importer looks beside a log, and below a folder
_CHECKPOINT = re.compile(r"checkpoint-\d+")  # its run's samples and arguments lie in the folder above


class Refused(ValueError):
    """A question that is not answered; the message is one line that says why and what to do."""


@dataclass(frozen=True, slots=True)
class Root:
    """The served folder.

    Attributes:
        path: without links.
    """

    path: Path

    @classmethod
    def of(cls, folder: str | Path) -> "Root":
        """The root at a folder.

        Raises:
            Refused: it is none.
        """
        path = Path(folder).resolve()
        if not path.is_dir():
            raise Refused(f"{folder}: expected a folder to serve. Name it with --root.")
        return cls(path)

    def resolve(self, source: str) -> Path:
        """The path of a source, by its name relative to the root.

        Raises:
            Refused: it is not there, it or a link beside it leads out of the root, or too much lies beside it.
        """
        if not source.strip():
            raise Refused("source: expected the name of a run, got an empty one. list_runs names them.")
        path = self.inside(source)
        if not os.path.exists(path):  # pathlib's raises where a name is too long
            raise Refused(f"{source[:200]}: expected a run under the served folder, got nothing. list_runs names them.")
        folder = path if path.is_dir() else path.parent
        reach = folder.parent if _CHECKPOINT.fullmatch(folder.name) else folder
        if not self._holds(reach):
            raise Refused(f"{source}: its run lies in the folder above the served one. Serve that with --root.")
        deep = BELOW if path.is_dir() else BESIDE
        for link in _links(reach, deep, source):
            if not self._holds(link.resolve()):
                raise Refused(f"{source}: {link.name} leads out of the served folder. Remove the link.")
        return path

    def inside(self, name: str) -> Path:
        """The path of a name, links followed.

        Raises:
            Refused: it lies outside the root, or is no path.
        """
        try:
            path = (self.path / name).resolve()
        except (OSError, ValueError, RuntimeError) as error:  # too long, a null byte, links in a circle
            raise Refused(f"{name[:80]!r}: expected a path, got something else ({type(error).__name__}).") from error
        if self._holds(path):
            return path
        raise Refused(f"{name[:200]}: expected a path under the served folder, got one outside. Serve it with --root.")

    def name(self, path: Path) -> str:
        """What a path under the root is called: relative to it, with forward slashes."""
        return path.relative_to(self.path).as_posix()

    def hidden(self, message: str) -> str:
        """A message with names relative to the root in the place of whole paths."""
        whole = str(self.path)
        if whole == os.sep:
            return message
        return message.replace(f"{whole}{os.sep}", "").replace(whole, ".")

    def _holds(self, path: Path) -> bool:
        return path.is_relative_to(self.path)


def _links(folder: Path, deep: int, source: str) -> Iterator[Path]:
    """The links in a folder and below it."""
    seen = 0
    for directory, folders, files in os.walk(folder):
        seen += len(folders) + len(files)
        if seen > MOST_ENTRIES:
            raise Refused(
                f"{source}: more than {MOST_ENTRIES:,} files lie beside it. Move the run to a folder of its own."
            )
        yield from (path for name in (*folders, *files) if (path := Path(directory, name)).is_symlink())
        if len(Path(directory).relative_to(folder).parts) >= deep:
            folders.clear()
