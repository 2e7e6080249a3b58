"""Settings that the rows themselves give away, from the rows up to the present."""

from rlprobe.recording.run import Batch


class Facts:
    """Watches batches go by and keeps what they prove."""

    def __init__(self) -> None:
        self.settings: dict[str, object] = {}

    def observe(self, batch: Batch, framework: str) -> None:
        """Take note of one batch."""
