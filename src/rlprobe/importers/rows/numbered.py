"""Rows printed as `NAME N: {...}`: a word, the step, and a dict's repr."""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from rlprobe.importers.rows.decode import Row
from rlprobe.importers.rows.pairs import dict_at

_STEPS = frozenset({"step", "rollout/step", "train/step", "eval/step"})  # the same number again


class NumberedDicts:
    """Reads such lines.

    Args:
        line: finds the start of a row's line; its groups `axis` and `step`, and its end before the brace.
        inner: axes whose rows belong to the newest step of a leading axis, once there is one.
        leading: axes that tell steps.
    """

    marks: tuple[bytes, ...] = (b"{",)

    def __init__(
        self, line: re.Pattern[str], *, inner: AbstractSet[str] = frozenset(), leading: AbstractSet[str] = frozenset()
    ) -> None:
        self._line = line
        self._inner = inner
        self._leading = leading
        self._step: int | None = None
        self._bad = 0
        self._waiting = False  # the unfinished last line begins a row
        self.settings: Mapping[str, object] = {}
        self.notes: tuple[str, ...] = ()

    @property
    def unreadable(self) -> int:
        """Rows whose dict is cut, and one whose line has no end yet."""
        return self._bad + self._waiting

    def rows(self, text: str, size: int) -> list[Row] | None:
        """The row of a line."""
        match = self._line.search(text) if "{" in text else None
        if match is None:
            return None
        found = dict_at(text, match.end())
        if found is None:
            self._bad += 1
            return []
        step = int(match.group("step"))
        if match.group("axis") in self._leading:
            self._step = step
        elif match.group("axis") in self._inner and self._step is not None:
            step = self._step
        return [{"step": step, **{key: value for key, value in found[0].items() if key not in _STEPS}}]

    def last(self, tail: str) -> tuple[list[Row], bool]:
        """The row of a last line without an end, when its dict is whole."""
        match = self._line.search(tail)
        whole = match is not None and tail.endswith("}") and dict_at(tail, match.end()) is not None
        self._waiting = match is not None and not whole
        if not whole:
            return [], False
        return self.rows(tail, len(tail)) or [], True
