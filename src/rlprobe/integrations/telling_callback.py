"""Telling from inside a trainer of transformers: what was found is passed on whenever the trainer logs."""

from rlprobe.integrations.telling import Telling

try:
    from transformers import TrainerCallback as Base
except ImportError:
    Base = object


class TellCallback(Base):  # type: ignore[misc]  # transformers is not there when types are checked
    """Calls `telling.tell()` in the trainer's thread, and remembers the TensorBoard writers of its callbacks.

    Args:
        trainer: whose callbacks hold the writers.

    Attributes:
        writers: every writer seen, also after its callback let go of it at the end of training.
        telling: what is told; set once it is there.
    """

    def __init__(self, trainer: object) -> None:
        self._trainer = trainer
        self.writers: list[object] = []
        self.telling: Telling | None = None

    def on_log(self, *_: object, **__: object) -> None:
        """Pass on what was found."""
        handler = getattr(self._trainer, "callback_handler", None)
        for callback in getattr(handler, "callbacks", ()):
            writer = getattr(callback, "tb_writer", None)
            if writer is not None and writer not in self.writers:
                self.writers.append(writer)
        if self.telling is not None:
            self.telling.tell()
