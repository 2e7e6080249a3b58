"""What travels from the training thread to the writer thread. An item owns what it holds.

They are msgspec structs because the training thread makes one a call: a tenth of the cost of a frozen dataclass.
`size` is the bytes of memory that an item takes in the queue, about, and never below ITEM_BYTES.
"""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TypeAlias

import msgspec

from rlprobe.recorder.packing import Packed

Row = Mapping[str, object]
ITEM_BYTES = 256  # bytes that an item takes in the queue at least, besides what it carries
LEAST, MOST = -(2**63), 2**63 - 1  # steps that the format holds


class StepItem(msgspec.Struct, frozen=True, gc=False):
    """Metrics of a step, as a dict or packed (recorder/ownership.py says when)."""

    step: int
    time: float
    metrics: Mapping[str, object] | Packed
    size: int = ITEM_BYTES


class SamplesItem(msgspec.Struct, frozen=True):
    """Sample rows of a step: a list of rows, or columns of equal length."""

    step: int
    time: float
    rows: Sequence[Row] | Mapping[str, Sequence[object]]
    size: int = ITEM_BYTES


class EventItem(msgspec.Struct, frozen=True):
    """An event."""

    kind: str
    step: int | None
    time: float
    fields: Mapping[str, object]
    size: int = 1024


class ManifestItem(msgspec.Struct, frozen=True):
    """Facts about the run that were learnt after its start."""

    changes: Mapping[str, object]
    size: int = 1024


class FlushItem:
    """Asks to be told when everything before it is in the journal, or that the disk refuses it for now.

    What it waits with is a bare lock. An Event has one of its own that the writer thread needs as well: a caller that
    a signal takes out of `wait`, and that fails there, would keep the writer from ever going on.
    """

    size = 0  # it is put past the bounds

    def __init__(self) -> None:
        self.kept = False
        self._waits = Lock()
        self._waits.acquire()

    def answer(self, *, kept: bool) -> None:
        """Tell who waits; called once, by the writer thread."""
        self.kept = kept
        self._waits.release()

    def wait(self, timeout: float) -> bool:
        """Wait for the answer, so many seconds at most; called once. Whether everything was kept."""
        return self._waits.acquire(timeout=max(timeout, 0.0)) and self.kept


Item: TypeAlias = StepItem | SamplesItem | EventItem | ManifestItem | FlushItem


def rows_of(item: Item) -> int:
    """Rows that are lost with an item."""
    if isinstance(item, SamplesItem):
        first = next(iter(item.rows.values()), ()) if isinstance(item.rows, Mapping) else item.rows
        return len(first) if hasattr(first, "__len__") else 1
    return int(isinstance(item, StepItem))


def whole_step(step: object) -> int:
    """The step as an integer of 64 bits.

    Raises:
        Exception: it is none.
    """
    number = int(step)  # type: ignore[call-overload]  # what has no __int__ raises TypeError
    if not LEAST <= number <= MOST:
        raise OverflowError(f"step {number} has more than 64 bits")
    return int(number)
