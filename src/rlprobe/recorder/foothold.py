"""The run's directory while it is this recorder's: laid, laid anew when it was deleted, given up when it was taken."""

from dataclasses import dataclass
from pathlib import Path

from rlprobe.recording.files import WriterLock, make_directory
from rlprobe.recording.layout import JOURNAL, MANIFEST, SAMPLES
from rlprobe.recording.manifest import UnreadableRecording, load_manifest


@dataclass(slots=True)
class Foothold:
    """Whose directory it is.

    Attributes:
        root: the run's directory (or a rank's).
        lock: held since the recorder was opened; None where nobody locks.
        run_id: of the run that is recorded.
    """

    root: Path
    lock: WriterLock | None
    run_id: object

    def lay(self) -> None:
        """Make what the writers need.

        Raises:
            OSError: the disk refused.
        """
        for path in (self.root, self.root / JOURNAL, self.root / SAMPLES):
            make_directory(path)

    def ours(self) -> bool:
        """Whether the directory is there and locked by this recorder."""
        return self.root.is_dir() if self.lock is None else self.lock.held(self.root)

    def laid(self) -> bool:
        """Whether the manifest and the directories of the writers are there."""
        return (self.root / JOURNAL).is_dir() and (self.root / SAMPLES).is_dir() and (self.root / MANIFEST).exists()

    def kept(self) -> bool:
        """Whether the directory holds this run, and not nothing or another one."""
        try:
            found = load_manifest(self.root)
        except UnreadableRecording:
            return False
        return found is not None and found.get("run_id") == self.run_id

    def regain(self) -> bool:
        """Make a deleted directory anew and lock it; False when it is another recorder's, or another run's, by now.

        Raises:
            OSError: the disk refused; it may be tried again.
        """
        make_directory(self.root)
        if self.lock is not None and not self.lock.retake(self.root):
            return False
        if (self.root / MANIFEST).exists() and not self.kept():
            self.let_go()
            return False
        return True

    def let_go(self) -> None:
        """Give the lock back."""
        if self.lock is not None:
            self.lock.release()
