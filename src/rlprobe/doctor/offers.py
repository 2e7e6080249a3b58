"""What other packages offer under an entry point group."""

import os
import sys
from pathlib import Path

_NOTES = {".dist-info": "entry_points.txt", ".egg-info": "entry_points.txt", ".egg": "EGG-INFO/entry_points.txt"}


def offers(group: str) -> tuple[str, ...]:
    """The modules that installed packages offer under the group, in order.

    Loading importlib.metadata takes 30 ms, more than all signatures; it is left out where no package names the group.
    """
    if not any(_mentions(Path(folder), group.encode()) for folder in sys.path):
        return ()
    from importlib.metadata import entry_points

    found = sorted(entry_points(group=group), key=lambda point: (point.value, point.name))
    return tuple(point.value for point in found)


def _mentions(folder: Path, group: bytes) -> bool:
    """Whether a package in a folder of the search path names the group; a file there is an archive, and not opened."""
    try:
        names = os.listdir(folder)
    except NotADirectoryError:
        return True
    except OSError:
        return False
    notes = (folder / name / _NOTES[suffix] for name in names if (suffix := os.path.splitext(name)[1]) in _NOTES)
    return any(group in _read(path) for path in notes)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
