"""Which sample rows of a step are kept: the reward extremes, outliers, and a random draw within a budget.

The draw depends on nothing but step and sample index (never on a random state that training uses), so that a run that
is repeated keeps the same rows. Beyond the run's budget ever fewer steps keep rows, but for those around an event.
"""

import hashlib
import heapq
import itertools
import math
from array import array
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec
import numpy as np

from rlprobe.recorder.sample_rows import SampleBlock
from rlprobe.recording.sample_columns import packed

Capture = Literal["default", "scalars", "samples", "tokens", "all"]
CAPTURES: tuple[Capture, ...] = ("default", "scalars", "samples", "tokens", "all")
_EXTREMES = 2  # samples kept at each end of the reward
_OUTLIERS = 2  # longest completions kept
_RANDOM = 8  # samples drawn
_AROUND = 2  # steps before and after an event whose rows are kept beyond the budget
_HELD_BYTES = 16 << 20  # bytes of rows that are held back in case an event comes
_SPARED = 2  # part of the budget that rows around events may take besides: half of it
_ROUTINE = frozenset(("group_parts", "resume", "dropped", "closed", "train_begin", "train_end", "bad_hook"))
_NUMBER_BYTES = 8
_HALF_BYTES = 2  # of a number in an array that is packed
_NUMBERS = frozenset((float, int, bool, type(None)))
_ORDER = ("top", "bottom", "outlier", "random")


@dataclass(slots=True)
class SamplePolicy:
    """What is kept of each step.

    Attributes:
        capture: "scalars" keeps no row; "samples" keeps chosen rows without token arrays; "tokens" and "default" keep
            chosen rows with them, "default" within `step_bytes`; "all" keeps every row whole.
        step_bytes: bytes that the rows of one step may take under "default".
        max_bytes: bytes of a run, after which ever fewer steps keep rows; "all" is not limited.
        written: bytes so far, those of earlier segments included.
        spared: bytes of rows that were kept only because they lie around an event.
    """

    capture: Capture = "default"
    step_bytes: int = 256 << 10
    max_bytes: int = 2 << 30
    written: int = 0
    spared: int = 0
    _events: deque[int] = field(default_factory=lambda: deque(maxlen=64))
    _held: deque[tuple[int, int, dict[str, list[object]]]] = field(default_factory=deque)
    _last: int = 0

    def choose(self, block: SampleBlock, step: int) -> dict[str, list[object]] | None:
        """The columns of the rows to keep, with a capture_reason; None when no row is kept."""
        if self.capture == "scalars" or block.rows == 0:
            return None
        if self.capture == "all":
            whole = {name: packed(values) for name, values in block.columns.items()}
            return self._counted({**whole, "capture_reason": ["all"] * block.rows}, block.rows)
        self._last = step
        chosen = self._within(block, _chosen(block, step))
        kept = {
            name: packed([values[row] for row in chosen])
            for name, values in block.columns.items()
            if self.capture != "samples" or not name.startswith("token_")
        }
        columns: dict[str, list[object]] = {**kept, "capture_reason": list(chosen.values())}
        if step % self._stride() == 0:
            return self._counted(columns, len(chosen))
        size = sum(map(_size_of_column, columns.values()))
        if self._near(step):
            self.spared += size
            return columns
        self._hold(step, size, columns)
        return None

    def around(self, kind: str, step: int | None) -> list[tuple[int, dict[str, list[object]]]]:
        """(step, columns) of the rows around an event that were held back; those after it are kept from now on.

        Args:
            kind: of the event; what is told of every step, or of the recording itself, spares nothing.
            step: of the event; None for one that belongs to the newest step.
        """
        if kind in _ROUTINE or self.capture in ("all", "scalars"):
            return []
        self._events.append(self._last if step is None else step)
        spared = [entry for entry in self._held if self._near(entry[0])]
        self._held = deque(entry for entry in self._held if not self._near(entry[0]))
        self.spared += sum(size for _, size, _ in spared)
        return [(place, columns) for place, _, columns in spared]

    def _near(self, step: int) -> bool:
        return self.spared < self.max_bytes // _SPARED and any(abs(step - event) <= _AROUND for event in self._events)

    def _hold(self, step: int, size: int, columns: dict[str, list[object]]) -> None:
        self._held.append((step, size, columns))
        while self._held[0][0] < step - _AROUND or sum(entry[1] for entry in self._held) > _HELD_BYTES:
            self._held.popleft()
            if not self._held:
                return

    def _stride(self) -> int:
        """1 while the run is within its budget; then 2, 4, 8 ... with each further quarter of the budget."""
        over = self.written - self.max_bytes
        return 1 if over < 0 else 2 ** (1 + 4 * over // self.max_bytes)

    def _within(self, block: SampleBlock, chosen: dict[int, str]) -> dict[int, str]:
        if self.capture != "default":
            return chosen
        rows = sorted(chosen, key=lambda row: _ORDER.index(chosen[row]))
        sizes = zip(*(_sizes([values[row] for row in rows]) for values in block.columns.values()), strict=True)
        fit = sum(spent <= self.step_bytes for spent in itertools.accumulate(map(sum, sizes)))
        return {row: chosen[row] for row in sorted(rows[: max(1, fit)])}

    def _counted(self, columns: dict[str, list[object]], rows: int) -> dict[str, list[object]] | None:
        self.written += sum(map(_size_of_column, columns.values()))
        return columns if rows else None


def _size(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, np.ndarray):
        return _HALF_BYTES * value.size
    return memoryview(value.data).nbytes if isinstance(value, msgspec.msgpack.Ext) else _NUMBER_BYTES


def _size_of_column(values: list[object]) -> int:
    return sum(_sizes(values))


def _sizes(values: list[object]) -> list[int]:
    """Bytes of each value."""
    types = set(map(type, values))
    if types <= _NUMBERS:
        return [_NUMBER_BYTES] * len(values)
    return [*map(len if types == {str} else _size, values)]  # type: ignore[arg-type]  # texts, all of them


def _chosen(block: SampleBlock, step: int) -> dict[int, str]:
    """Row -> why it is kept, in row order."""
    chosen: dict[int, str] = {}
    rows = range(block.rows)
    if "reward" in block.columns:
        reward = _finite(block.columns["reward"], -math.inf)
        order = sorted(rows, key=reward.__getitem__)
        chosen.update(dict.fromkeys(order[:_EXTREMES], "bottom"))
        chosen.update(dict.fromkeys(order[-_EXTREMES:], "top"))
        chosen.update(dict.fromkeys([row for row in rows if reward[row] == -math.inf][:_OUTLIERS], "outlier"))
    if "completion_tokens" in block.columns:
        length = _finite(block.columns["completion_tokens"], 0.0)
        for row in heapq.nlargest(_OUTLIERS, rows, key=length.__getitem__):
            chosen.setdefault(row, "outlier")
    draw = _draw(step, block.rows)
    drawn = heapq.nsmallest(_RANDOM + len(chosen), rows, key=draw.__getitem__)
    chosen.update(dict.fromkeys([row for row in drawn if row not in chosen][:_RANDOM], "random"))
    return dict(sorted(chosen.items()))


def _finite(values: list[object], instead: float) -> list[float]:
    """The numbers of a column, with something else where there is none."""
    return [value if value is not None and math.isfinite(value) else instead for value in values]  # type: ignore[arg-type,misc]  # of a clean column


def _draw(step: int, rows: int) -> Sequence[int]:
    """Evenly spread numbers of 64 bits, of which those of a row depend on nothing but the step and the row."""
    return array("Q", hashlib.shake_128(str(step).encode()).digest(8 * rows))
