"""A guardian's request that training stop, read from control.json."""

import contextlib
import json
import time
from dataclasses import dataclass, field
from pathlib import Path

from rlprobe.recording.layout import CONTROL, STOP

LOOK_EVERY = 0.5  # seconds between two looks at the file
_MAX_BYTES = 1 << 20


@dataclass(slots=True)
class HaltRequest:
    """Looks at most every LOOK_EVERY seconds; once asked to halt, it stays asked.

    The file is `{"request": "halt", "reason": TEXT, ...}`; anything else asks for nothing.
    """

    root: Path
    asked: bool = False
    reason: str = ""
    fields: dict[str, object] = field(default_factory=dict)
    _next: float = 0.0

    @property
    def told(self) -> str:
        """The reason, and where to go back to, as one line for a log."""
        back = self.fields.get("rollback_checkpoint") or self.fields.get("rollback_step")
        text = self.reason if back is None else f"{self.reason}; roll back to checkpoint {str(back)[:500]}"
        return "".join(character if character.isprintable() else " " for character in text)

    def look(self) -> bool:
        """Whether training is asked to stop."""
        now = time.monotonic()
        if self.asked or now < self._next:
            return self.asked
        self._next = now + LOOK_EVERY
        try:
            content = (self.root / CONTROL).read_bytes()[:_MAX_BYTES]
            request = json.loads(content)
        except (OSError, ValueError, RecursionError):
            return False
        if isinstance(request, dict) and request.get("request") == "halt":
            self.asked = True
            self.reason = str(request.get("reason", ""))[:1000]
            self.fields = {name: value for name, value in request.items() if name != "request"}
        return self.asked


def set_aside(root: Path, segment: int) -> None:
    """Rename a request that was meant for an earlier segment, so that it does not stop this one."""
    with contextlib.suppress(OSError):
        (root / STOP).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        (root / CONTROL).rename(root / f"control-{segment - 1:04d}.json")
