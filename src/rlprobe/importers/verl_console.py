"""What verl prints: `step:N - key:value - key:value`, behind Ray's prefix or beside a progress bar.

SkyRL and Agent-R1 print the same. Numbers come plain or as numpy's repr. Where wandb wrote the console down, lines are
cut at 4096 bytes, and what stood behind is lost.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.console import ConsoleRows, cleaned_head, is_text
from rlprobe.importers.rows.decode import Row
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.values import NUMBER, number
from rlprobe.importers.verl_rollouts import samples_beside
from rlprobe.recording.run import Event, Feed

NAME = "verl-console"
EXPECTS = "verl's console: lines of step:N - key:value - key:value"
CLUES = (b"step:", b"actor/", b"critic/", b"verl", b"(TaskRunner pid=")

_LINE = re.compile(r"(?<![\w/@.-])step:(\d{1,18}) - ")
_SNIFF = re.compile(rb"(?<![\w/@.-])step:\d{1,18} - [^\s:][^:\n]{0,200}:\S")
_REPR = re.compile(r"\b(?:np|numpy)\.\w+\(([^()]*)\)")
_WARNING = re.compile(r"\bgrad_norm is not finite: *([-+\w.()]+)")
_CUT_AT: Final = (4095, 4096)  # bytes of a line that wandb cut, without and with its end


def sniff(path: Path, head: bytes) -> bool:
    """Whether a line of the head begins a step as verl prints it."""
    return is_text(head) and b"step:" in head and _SNIFF.search(cleaned_head(head)) is not None


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of a console log's steps; it goes on where it stopped as the file grows."""
    aside = Aside(samples=samples_beside(path))
    return RowFeed(str(path), NAME, ConsoleRows(path, VerlLines(aside), aside), keys, run, aside)


class VerlLines:
    """Rows among the lines of verl's console."""

    marks: tuple[bytes, ...] = (b"step:", b"not finite")

    def __init__(self, aside: Aside) -> None:
        self._aside = aside
        self._step: int | None = None
        self._warned: set[int | None] = set()
        self._cut = 0
        self._bad = 0
        self._waiting = False  # the unfinished last line begins a step
        self.settings: Mapping[str, object] = {}

    @property
    def unreadable(self) -> int:
        """Steps without a single number, and one whose line has no end yet."""
        return self._bad + self._waiting

    @property
    def notes(self) -> tuple[str, ...]:
        """How many lines were cut."""
        if not self._cut:
            return ()
        return (f"{self._cut} lines are cut (wandb keeps 4096 bytes of a line); metrics behind the cut are missing.",)

    def rows(self, text: str, size: int) -> list[Row] | None:
        """The row of a step's line."""
        match = _LINE.search(text) if "step:" in text else None
        if match is None:
            self._warning(text)
            return None
        row = self._row(match, text, whole=size not in _CUT_AT)
        if row is None:
            self._bad += 1
            return []
        self._step = int(match.group(1))
        return [row]

    def last(self, tail: str) -> tuple[list[Row], bool]:
        """Nothing: the number at the end of an unfinished line may be cut."""
        self._waiting = _LINE.search(tail) is not None
        return [], False

    def _row(self, match: re.Match[str], text: str, *, whole: bool) -> Row | None:
        body = text[match.end() :]
        if "(" in body:
            body = _REPR.sub(r"\1", body)
        row: Row = {"step": int(match.group(1))}
        pairs = body.split(" - ")
        final = pairs.pop()
        for pair in pairs:
            key, _, value = pair.rpartition(":")
            row[key] = value
        key, _, value = final.rpartition(":")
        value = value.split(maxsplit=1)[0] if value.strip() else ""  # a progress bar may follow on the same line
        if whole and key and number(value)[1] == NUMBER:
            row[key] = value
        else:
            self._cut += 1
        row.pop("", None)
        return row if len(row) > 1 else None

    def _warning(self, text: str) -> None:
        """An update that a non-finite gradient made verl skip; it belongs to the step that is under way."""
        match = _WARNING.search(text) if "not finite" in text else None
        if match is None:
            return
        step = None if self._step is None else self._step + 1
        if step not in self._warned:
            self._warned.add(step)
            value = {"inf": "Infinity", "-inf": "-Infinity"}.get(match.group(1), "NaN")
            self._aside.events.append(
                Event(kind="non_finite", step=step, fields={"metric": "grad_norm", "value": value})
            )
