"""events.jsonl: one line an event, one write a line, and a reader that continues where it stopped."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

from rlprobe.recording.layout import EVENTS
from rlprobe.recording.manifest import plain
from rlprobe.recording.run import Event

MAX_LINE = 1 << 22  # bytes; a longer line is damage
_READ = 2 * MAX_LINE  # bytes that are held at a time
_OWN = frozenset(("kind", "step", "time", "segment", "sequence"))


def event_line(
    kind: str, *, step: int | None, time: float, segment: int, sequence: int, fields: Mapping[str, object]
) -> bytes:
    """The line of one event; a field that has the name of one of the line's own keys gets a trailing underscore."""
    own = {"sequence": sequence, "segment": segment, "time": round(time, 6), "kind": kind, "step": step}
    rest = {f"{name}_" if name in _OWN else str(name): plain(value) for name, value in fields.items()}
    return json.dumps({**own, **rest}, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


class EventTail:
    """The events of a recording, read on from where the last call stopped."""

    def __init__(self, root: Path) -> None:
        self._path = root / EVENTS
        self._offset = 0
        self._tail_counted = self._skipping = False
        self.dropped = 0
        self.bad_values = 0
        self.unreadable = 0

    def read(self, *, final: bool) -> list[Event]:
        """New events; a last line without an end is left for the next call, or counted once nobody writes any more."""
        events = []
        rest = b""
        while data := self._new_bytes():
            whole, end, rest = data.rpartition(b"\n")
            if not end and len(data) < _READ:
                break
            if not end:  # longer than any line: passed over piece by piece
                rest, self._skipping = b"", True
            self._offset += len(data) - len(rest)
            events += self._events_in(whole) if end else []
        if (rest or self._skipping) and final and not self._tail_counted:
            self.unreadable += 1
            self._tail_counted = True
        return events

    def _events_in(self, lines: bytes) -> list[Event]:
        events = []
        for number, line in enumerate(lines.split(b"\n")):
            event = None if self._skipping and number == 0 else _parse(line)
            if event is not None:
                self._count(event)
                events.append(event)
            elif line.strip() or self._skipping:
                self.unreadable += 1
            self._skipping = False
        return events

    def _new_bytes(self) -> bytes:
        """What follows the last line that was read, as much as is read at a time."""
        try:
            with self._path.open("rb") as lines:
                self._offset = min(self._offset, lines.seek(0, 2))
                lines.seek(self._offset)
                return lines.read(_READ)
        except OSError:
            return b""

    def _count(self, event: Event) -> None:
        if event.kind == "dropped":
            rows = event.fields.get("rows")
            self.dropped += rows if isinstance(rows, int) and rows > 0 else 0
        self.bad_values += event.kind == "bad_value"


def _parse(line: bytes) -> Event | None:
    if len(line) > MAX_LINE:
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("kind"), str):
        return None
    step, time = record.get("step"), record.get("time")
    known = isinstance(time, (int, float)) and not isinstance(time, bool) and math.isfinite(time)
    return Event(
        kind=record["kind"],
        step=step if isinstance(step, int) and not isinstance(step, bool) else None,
        time=float(time) if known else None,  # type: ignore[arg-type]  # a number, as was just checked
        fields={name: value for name, value in record.items() if name not in ("kind", "step", "time")},
    )
