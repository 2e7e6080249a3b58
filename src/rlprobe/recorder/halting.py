"""A guardian's request that training stop, read from control.json; and the one that training makes by itself."""

import contextlib
import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rlprobe.recording.files import replace_bytes
from rlprobe.recording.layout import CONTROL, STOP

LOOK_EVERY = 0.5  # seconds between two looks at the file
_MAX_BYTES = 1 << 20
NUMBERS = ("policy_loss", "loss", "grad_norm")  # never undefined where a step trained; the doctor's ALWAYS_DEFINED
NEAR = 10  # steps within which a second broken one makes it critical, as for the doctor's NUMERIC_NAN
UNDEFINED = 3  # steps without a number from the start on after which that is no warm-up
_CHECKPOINTS = 64  # newest ones that are remembered


@dataclass(slots=True)
class HaltRequest:
    """Once asked to halt, it stays asked. Where a recorder runs, its keeper thread looks, and training never does.

    The file is `{"request": "halt", "reason": TEXT, ...}`; anything else asks for nothing.
    """

    root: Path
    asked: bool = False
    reason: str = ""
    fields: dict[str, object] = field(default_factory=dict)
    exact: "ExactStop | None" = None
    told: bool = False
    _next: float = 0.0

    @property
    def line(self) -> str:
        """The reason, and where to go back to, as one line for a log."""
        back = self.fields.get("rollback_checkpoint") or self.fields.get("rollback_step")
        text = self.reason if back is None else f"{self.reason}; roll back to checkpoint {str(back)[:500]}"
        return "".join(character if character.isprintable() else " " for character in text)

    def look(self) -> bool:
        """Whether training is asked to stop; looks at the file every LOOK_EVERY seconds at most."""
        now = time.monotonic()
        if now < self._next:
            return self.asked
        self._next = now + LOOK_EVERY
        return self.read()

    def read(self) -> bool:
        """Whether training is asked to stop, by the file as it is now."""
        if self.asked:
            return True
        try:
            content = (self.root / CONTROL).read_bytes()[:_MAX_BYTES]
            request = json.loads(content)
        except (OSError, ValueError, RecursionError):
            return False
        if isinstance(request, dict) and request.get("request") == "halt":
            self.reason = str(request.get("reason", ""))[:1000]
            self.fields = {name: value for name, value in request.items() if name != "request"}
            self.asked = True  # last: another thread reads the reason once it sees this
        return self.asked

    def see(self, step: int, metrics: Mapping[str, object]) -> None:
        """Ask for the halt here and now if the update's numbers are broken for good; an earlier request stands.

        Raises:
            OSError: the request cannot be written.
        """
        request = None if self.exact is None or self.asked else self.exact.see(step, metrics)
        if request is not None:
            self.exact = None
            if not (self.root / CONTROL).exists():
                replace_bytes(self.root / CONTROL, json.dumps(request).encode())
            self.read()


@dataclass(slots=True)
class ExactStop:
    """Halts at the second step, within NEAR, whose loss or gradient norm is NaN or infinite.

    That is exact evidence, so training need not wait for the guardian beside it. The rule is the doctor's for a
    critical NUMERIC_NAN. Numbers on a device are not looked at: that would make training wait for them.

    Args:
        first_step: below this step nothing halts.
    """

    first_step: int = 0
    _step: int | None = None
    _row: int = 0
    _last: int | None = None
    _began: tuple[str, int] = ("", 0)
    _undefined: dict[str, int] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)
    _checkpoints: list[tuple[int, object]] = field(default_factory=list)

    def saved(self, step: int | None, path: object) -> None:
        """Remember a checkpoint."""
        if step is not None:
            self._checkpoints = [*self._checkpoints[1 - _CHECKPOINTS :], (step, path)]

    def see(self, step: int, metrics: Mapping[str, object]) -> dict[str, object] | None:
        """Look at what was logged of a step; the request where it is time to halt."""
        if step != self._step:
            self._step, self._row = step, self._row + 1
        broken = [name for name in NUMBERS if self._broken(name, metrics.get(name))]
        if not broken or self._row == self._last:
            return None
        near = self._last is not None and self._row - self._last < NEAR
        if self._last is None:
            self._began = (broken[0], step)
        self._last = self._row
        return self._request(broken[0], metrics, step) if near and step >= self.first_step else None

    def _broken(self, name: str, value: object) -> bool:
        if not isinstance(value, float):
            return False
        if math.isfinite(value):
            self._known.add(name)
            return False
        self._undefined[name] = self._undefined.get(name, 0) + 1
        return name in self._known or self._undefined[name] >= UNDEFINED

    def _request(self, name: str, metrics: Mapping[str, object], step: int) -> dict[str, object]:
        """The document, as the guardian writes it."""
        first, since = self._began
        back = next(((at, path) for at, path in reversed(self._checkpoints) if at < since), (None, None))
        reason = f"NUMERIC_NAN {first} since step {since} (critical): {name} is {metrics[name]} (an exact violation)"
        return {
            "request": "halt",
            "reason": reason,
            "findings": [f"NUMERIC_NAN[{first}]@{since}"],
            "evidence": [
                {"metric": name, "before": None, "after": str(metrics[name]), "unit": "", "log_evidence": None}
            ],
            "judged_step": step,
            "rollback_step": back[0],
            "rollback_checkpoint": back[1] if isinstance(back[1], str) else None,
            "asked": round(time.time(), 3),
        }


def set_aside(root: Path, segment: int) -> None:
    """Rename a request that was meant for an earlier segment, so that it does not stop this one."""
    with contextlib.suppress(OSError):
        (root / STOP).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        (root / CONTROL).rename(root / f"control-{segment - 1:04d}.json")
