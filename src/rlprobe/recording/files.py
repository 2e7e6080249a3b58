"""The disk as the format needs it: files whole by rename, appends whole or undone, a lock that dies with its owner."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rlprobe.recording.layout import DIRECTORY_MODE, FILE_MODE, LOCK, TEMPORARY, parse_rank

try:
    import fcntl

    _LOCKS = True
except ImportError:  # pragma: no cover  # Windows: no flock, so two writers of one run are not told apart
    _LOCKS = False


def make_directory(path: Path) -> None:
    """Create a directory and what leads to it, lastingly; only the owner may look inside the new one."""
    if path.is_dir():
        return
    if not path.parent.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        sync_directory(path.parent.parent)
    path.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    sync_directory(path.parent)


def rank_folders(root: Path) -> dict[int, Path]:
    """The folders of the other ranks by number; what only has the name of one, or leads back to the run, is none.

    Raises:
        OSError: the run's directory cannot be read.
    """
    named = ((parse_rank(child.name), child) for child in root.iterdir())
    found = {rank: child for rank, child in named if rank is not None and child.is_dir()}
    if any(child.is_symlink() for child in found.values()):
        run = root.resolve()
        found = {rank: child for rank, child in found.items() if child.resolve() not in (run, *run.parents)}
    return dict(sorted(found.items()))


def replace_file(path: Path, write: Callable[[Path], None]) -> None:
    """Put a whole file in place: written beside it, synced, renamed, and the rename synced.

    Raises:
        OSError: the disk refused; the old file is untouched.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}{TEMPORARY}")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, FILE_MODE))
        write(temporary)
        sync_file(temporary)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_directory(path.parent)


@contextlib.contextmanager
def whole_directory(path: Path) -> Iterator[Path]:
    """A new folder to fill, which takes the name `path` once it is full; what fails on the way leaves nothing behind.

    A folder that is there already, and empty, is filled in place.

    Raises:
        OSError: the disk refused.
    """
    there = path.exists()
    filling = path if there else path.with_name(f".{path.name[:100]}.{os.getpid()}{TEMPORARY}")
    if not there:
        shutil.rmtree(filling, ignore_errors=True)  # of a process of that number that was killed
    make_directory(filling)
    try:
        yield filling
        if not there:
            os.rename(filling, path)
            sync_directory(path.parent)
    except BaseException:
        _clear(filling)
        if not there:
            filling.rmdir()
        raise


def _clear(folder: Path) -> None:
    for child in folder.iterdir():
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child, ignore_errors=True)
        else:
            child.unlink(missing_ok=True)


def replace_bytes(path: Path, content: bytes) -> None:
    """Put a whole small file in place."""
    replace_file(path, lambda temporary: _write_whole(temporary, content))


def _write_whole(path: Path, content: bytes) -> None:
    with path.open("r+b", buffering=0) as out:
        if out.write(content) != len(content):
            raise OSError(28, "No space left on device", str(path))


def sync_file(path: Path) -> None:
    """fsync a file by name."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(path: Path) -> None:
    """Make renames and removals in a directory last; systems that cannot sync one are left at that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@dataclass(slots=True)
class AppendFile:
    """A file that only grows, by whole pieces. Owned by one thread; `close` ends it.

    A short write (a full disk) is cut back to the last whole piece, so that the next piece follows a whole one.
    Where pieces are `lines`, a torn one that an earlier process left is given an end, so that it costs itself alone.
    """

    path: Path
    lines: bool = False
    descriptor: int = -1
    size: int = 0
    damaged: bool = False
    _torn: bool = False

    def append(self, piece: bytes) -> None:
        """Write the piece whole.

        Raises:
            OSError: nothing of the piece is in the file; it may be tried again.
        """
        if self.descriptor < 0:
            self.descriptor = os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, FILE_MODE)
            self.size = os.fstat(self.descriptor).st_size
            self._torn = self.lines and self.size > 0 and os.pread(self.descriptor, 1, self.size - 1) != b"\n"
        if self.damaged:
            os.ftruncate(self.descriptor, self.size)
            self.damaged = False
        piece = b"\n" + piece if self._torn else piece
        written = 0
        try:
            while written < len(piece):
                written += os.write(self.descriptor, memoryview(piece)[written:])
        except OSError:
            self.damaged = True
            with contextlib.suppress(OSError):
                os.ftruncate(self.descriptor, self.size)
                self.damaged = False
            raise
        self.size += written
        self._torn = False

    def removed(self) -> bool:
        """Whether somebody deleted or replaced the file under its writer."""
        return self.descriptor >= 0 and not _same(self.path, self.descriptor)

    def close(self) -> None:
        """Close the descriptor; the file may be opened again by `append`."""
        if self.descriptor >= 0:
            descriptor, self.descriptor = self.descriptor, -1
            os.close(descriptor)


def _same(path: Path, descriptor: int) -> bool:
    """Whether a path still names the file that a descriptor has open."""
    try:
        named, held = os.stat(path), os.fstat(descriptor)
    except OSError:
        return False
    return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)


@dataclass(slots=True)
class WriterLock:
    """The run's lock: held by the process that writes, freed by the system when that process dies."""

    descriptor: int

    @classmethod
    def take(cls, root: Path) -> "WriterLock | None":
        """The lock, or None when another recorder holds it."""
        descriptor = os.open(root / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, FILE_MODE)
        if _LOCKS:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return None
            except OSError:
                return cls(descriptor)  # a file system without locks: nothing to hold, nothing to refuse
        return cls(descriptor)

    def held(self, root: Path) -> bool:
        """Whether this is still the lock of that directory: nobody deleted it, nor the directory with it."""
        return self.descriptor >= 0 and _same(root / LOCK, self.descriptor)

    def retake(self, root: Path) -> bool:
        """Take the lock of a directory that was laid anew; False when another recorder holds that one."""
        taken = WriterLock.take(root)
        if taken is None:
            return False
        self.release()
        self.descriptor = taken.descriptor
        return True

    def release(self) -> None:
        """Give the lock back. In a forked child this closes the child's copy only."""
        if self.descriptor >= 0:
            descriptor, self.descriptor = self.descriptor, -1
            os.close(descriptor)


def writer_alive(root: Path) -> bool | None:
    """Whether a process holds the run's lock; None when that cannot be told."""
    if not _LOCKS:
        return None
    try:
        descriptor = os.open(root / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return False
