"""Rows of foreign keys as batches of canonical columns.

Rows with the same keys in the same order share a *layout*, so that a block of rows becomes columns in one go.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlprobe.importers.rows.decode import Row
from rlprobe.importers.rows.derive import derived, metadata_of
from rlprobe.importers.rows.missing import NullReader, drop_repeats
from rlprobe.importers.rows.plan import Plan, Target
from rlprobe.importers.rows.steps import STEP_KEY_SET, STEP_KEYS, Placement, StepClock, is_training, step_of
from rlprobe.importers.rows.values import BAD, NULL, NUMBER, column
from rlprobe.recording.run import Batch, BoolArray, Event, FloatArray, IntArray, Metadata, Revision

MAX_COLUMNS: Final = 1024  # columns of a run; keys beyond are counted and left out
MAX_CELLS: Final = 16 << 20  # cells (9 bytes each) beyond which no unknown key opens a column any more
_MAX_LAYOUTS: Final = 512
_SUMMARY_KEYS = frozenset({"train_runtime", "total_flos"})  # only the row that transformers adds after the last step

States = NDArray[np.uint8]
Columns = dict[str, tuple[FloatArray, BoolArray]]


@dataclass(slots=True, kw_only=True)
class _Layout:
    """What the values of rows with the same keys mean, and the rows of the present block that have them."""

    step_keys: tuple[str, ...]
    targets: tuple[tuple[int, Target], ...]
    names: frozenset[str]
    summary: bool
    version: int
    rows: list[int] = field(default_factory=list)
    values: list[tuple[object, ...]] = field(default_factory=list)


class RowTable:
    """Turns blocks of rows into batches; remembers what reaches over the border of a block.

    Args:
        plan: what foreign keys mean.
        run: which of several runs in one file to keep, counted from 1; None keeps all, the later replacing the earlier.

    Attributes:
        bad_values: values of canonical metrics that were no numbers.
        summaries: final summary rows that were left out.
        merged: rows that joined the row of the same step before them.
        beyond: foreign keys left out because the run has too many columns.
        metadata: of every column so far.
        runs: (first step, last step, rows) of each run met so far.
    """

    def __init__(self, plan: Plan, *, run: int | None = None) -> None:
        self.plan = plan
        self.clock = StepClock()
        self._run = run
        self._layouts: dict[tuple[str, ...], _Layout] = {}
        self._nulls = NullReader()
        self._repeated: dict[str, float] = {}
        self._carry: dict[str, tuple[float, float]] = {}
        self._carry_place: Placement | None = None
        self._told_complete = False
        self.bad_values = 0
        self.summaries = 0
        self.merged = 0
        self.repeats = 0
        self.beyond: set[str] = set()
        self.metadata: dict[str, Metadata] = {}
        self.runs: list[list[int]] = []

    def add(self, rows: Sequence[Row]) -> list[Batch]:
        """The batches that a block of rows makes: one, and one more for every rewind."""
        block: list[_Layout] = []
        places: list[Placement] = []
        for row in rows:
            layout = self._layout(row)
            if layout.summary or not layout.targets:
                self.summaries += layout.summary
                continue
            if not layout.rows:
                block.append(layout)
            layout.rows.append(len(places))
            layout.values.append(tuple(row.values()))
            places.append(self._place(row, layout))
        if not places:
            return []
        columns = self._columns(block, len(places))
        return self._batches(places, columns)

    def _place(self, row: Row, layout: _Layout) -> Placement:
        place = self.clock.place(step_of(row, layout.step_keys), layout.names)
        if len(self.runs) < place.run:
            self.runs.append([place.step, place.step, 0])
        self.runs[-1][1] = place.step
        self.runs[-1][2] += 1
        return place

    def _layout(self, row: Row) -> _Layout:
        keys = tuple(row)
        layout = self._layouts.get(keys)
        if layout is not None and layout.version == self.plan.version:
            return layout
        self.plan.see(keys)
        if len(self._layouts) >= _MAX_LAYOUTS:
            self._layouts.clear()
        layout = self._layouts[keys] = self._new_layout(keys)
        return layout

    def _new_layout(self, keys: tuple[str, ...]) -> _Layout:
        best: dict[str, tuple[int, Target]] = {}
        for position, key in enumerate(keys):
            if key in STEP_KEY_SET:
                continue
            target = self.plan.target(key)
            rival = best.get(target.name)
            if rival is not None and rival[1].rank <= target.rank:
                target = target.as_foreign()
            elif rival is not None:
                foreign = rival[1].as_foreign()
                best[foreign.name] = (rival[0], foreign)
            best[target.name] = (position, target)
        return _Layout(
            step_keys=tuple(key for key in STEP_KEYS if key in keys),
            targets=tuple(best.values()),
            names=frozenset(name for name, (_, each) in best.items() if each.known and is_training(name)),
            summary=not _SUMMARY_KEYS.isdisjoint(keys),
            version=self.plan.version,
        )

    def _columns(self, block: list[_Layout], count: int) -> Columns:
        numbers: dict[str, FloatArray] = {}
        states: dict[str, States] = {}
        targets: dict[str, Target] = {}
        null_only: set[str] = set()
        for layout in block:
            where = np.array(layout.rows)
            by_position = tuple(zip(*layout.values, strict=True))
            layout.rows, layout.values = [], []
            for position, target in layout.targets:
                values, kinds = column(by_position[position])
                self.bad_values += int(np.count_nonzero(kinds == BAD)) if target.known else 0
                if not self._admit(target, kinds):
                    if np.any(kinds == NULL):
                        null_only.add(target.name)
                    continue
                name = target.name
                if name not in numbers:
                    numbers[name] = np.full(count, np.nan)
                    states[name] = np.zeros(count, dtype=np.uint8)
                plain = target.scale == 1 and target.offset == 0
                numbers[name][where] = values if plain else values * target.scale + target.offset
                states[name][where] = kinds
                targets[name] = target
        logged = self._nulls.logged(states, null_only, targets)
        self.repeats += drop_repeats(numbers, logged, targets, self._repeated)
        return self._with_derived({name: (numbers[name], logged[name]) for name in numbers if logged[name].any()})

    def _with_derived(self, columns: Columns) -> Columns:
        for name, pair in derived(columns).items():
            columns[name] = pair
            self.metadata.setdefault(name, metadata_of(name))
        return columns

    def _admit(self, target: Target, kinds: States) -> bool:
        """Whether the column has its place in the run; its metadata are noted with its first number."""
        name = target.name
        if name not in self.metadata:
            if not np.any(kinds == NUMBER):
                return False
            if len(self.metadata) >= MAX_COLUMNS or (not target.known and self._cells() > MAX_CELLS):
                if len(self.beyond) < MAX_COLUMNS:
                    self.beyond.add(name)
                return False
        self.metadata[name] = target.metadata
        return True

    def _cells(self) -> int:
        """Cells that the run holds, were every column as long as the log so far."""
        return len(self.metadata) * sum(rows for _, _, rows in self.runs)

    def _batches(self, places: list[Placement], columns: Columns) -> list[Batch]:
        """Rows of one step joined, then cut where training went back."""
        moves = [place.move for place in places]
        starts = np.array([row for row, move in enumerate(moves) if row == 0 or move not in ("same", "late")])
        joins = moves[0] in ("same", "late") and self._carry_place is not None
        self.merged += len(places) - len(starts) + joins
        joined, self._carry = _joined(columns, starts, len(places), self._carry if joins else {})
        self._carry_place = places[-1]
        heads = [places[row] for row in starts]
        cuts = [
            0,
            *(group for group, head in enumerate(heads) if group and head.move in ("resume", "restart")),
            len(heads),
        ]
        made = [
            _batch(heads[low:high], {name: (v[low:high], m[low:high]) for name, (v, m) in joined.items()})
            for low, high in pairwise(cuts)
            if self._run is None or heads[low].run == self._run
        ]
        # a row that was told to be complete and is not: the whole row again (the carry holds every column of it)
        revision: Revision = "tail" if joins and self._told_complete else "none"
        self._told_complete = self.merged == 0
        made = [replace(batch, complete=self._told_complete) for batch in made if len(batch.steps)]
        if made and made[0].steps[0] == heads[0].step:
            made[0] = replace(made[0], revision=revision)
        return made


def _batch(heads: list[Placement], columns: Columns) -> Batch:
    """The batch of the rows of one segment in which anything was logged."""
    first = heads[0]
    events: tuple[Event, ...] = ()
    if first.move in ("resume", "restart"):
        fields = {"from_step": first.step, "new_run": first.move == "restart"}
        events = (Event(kind="resume", step=first.step, fields=fields),)
    kept = np.any([mask for _, mask in columns.values()], axis=0) if columns else np.zeros(len(heads), dtype=bool)
    return Batch(
        steps=np.array([head.step for head in heads], dtype=np.int64)[kept],
        columns={name: (values[kept], mask[kept]) for name, (values, mask) in columns.items() if mask.any()},
        segments=np.array([head.segment for head in heads], dtype=np.int64)[kept],
        events=events,
    )


def _joined(
    columns: Columns, starts: IntArray, count: int, carry: Mapping[str, tuple[float, float]]
) -> tuple[Columns, dict[str, tuple[float, float]]]:
    """Columns with the rows of one step averaged over those that logged the column, and the last row's sums."""
    out: Columns = {}
    sums_of_last: dict[str, tuple[float, float]] = {}
    for name in dict.fromkeys([*columns, *carry]):
        values, logged = columns.get(name, (np.full(count, np.nan), np.zeros(count, dtype=bool)))
        sums = np.where(logged, values, 0.0)
        counts = logged.astype(np.float64)
        if len(starts) < count:
            sums, counts = np.add.reduceat(sums, starts), np.add.reduceat(counts, starts)
        if name in carry:
            sums[0] += carry[name][0]
            counts[0] += carry[name][1]
        mask = counts > 0
        with np.errstate(invalid="ignore"):
            out[name] = np.where(mask, sums / np.maximum(counts, 1), np.nan), mask
        if mask[-1]:
            sums_of_last[name] = (float(sums[-1]), float(counts[-1]))
    return out, sums_of_last
