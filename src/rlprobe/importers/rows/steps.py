"""Which step each row belongs to, and where training went back or began again.

A row's step is read from the first of `STEP_KEYS` that it has. A log without any counts its rows from 0; a row without
one in a log that has them belongs to the step before it. Rows of one step become one row.

A step below the last one is, in this order:
- a *late row*, when it has no training metric (an evaluation that finished after later steps were logged), or none in
  common with the last row and is at most two logging intervals late: it joins the newest row;
- a *new run*, when it is not beyond the first training step so far: several runs are appended in one file;
- a *resume* otherwise: training went back to a checkpoint.
Both rewinds open a new segment. Of several runs in one file the last is the default view: of the labelled real logs
six hold appended runs (crashed attempts before the real one in five), and their labels speak of the last.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from rlprobe.importers.rows.values import NUMBER, number

STEP_KEYS: Final = (
    *("step", "Step", "steps", "global_step", "train/global_step", "training/global_step", "trainer/global_step"),
    *("global_step/max_steps", "progress/batch", "progress/step", "rollout/step", "train/step"),
    *("current_steps", "iteration", "iter", "update", "episode", "_step"),
)
STEP_KEY_SET: Final = frozenset(STEP_KEYS)
_NOT_TRAINING = frozenset({"epoch", "wall_time", "tokens_total", "learning_rate"})  # logged beside anything
_LATE_INTERVALS: Final = 2  # logging intervals by which an evaluation row may trail behind
_MAX_STEP: Final = 1 << 62

Move = Literal["next", "same", "late", "resume", "restart"]


def is_training(name: str) -> bool:
    """Whether a canonical metric shows that its row tells of training, not of an evaluation or of nothing."""
    return name not in _NOT_TRAINING and not name.startswith("evaluation_score/")


def step_of(row: Mapping[str, object], keys: tuple[str, ...]) -> int | None:
    """The whole number under the first of a row's step keys that has one; None when none has."""
    for key in keys:
        if (step := _whole(row[key])) is not None:
            return step
    return None


def _whole(value: object) -> int | None:
    if type(value) is int and -_MAX_STEP < value < _MAX_STEP:
        return value
    if isinstance(value, str) and "/" in value:
        value = value.partition("/")[0]
    parsed, state = number(value)
    if state != NUMBER or not -_MAX_STEP < parsed < _MAX_STEP:
        return None
    return round(parsed) if abs(parsed - round(parsed)) < 1e-6 else None


@dataclass(slots=True, kw_only=True)
class Placement:
    """Where a row goes: its step, its segment, its run (counted from 1), and how it relates to the row before."""

    step: int
    segment: int
    run: int
    move: Move


class StepClock:
    """Follows the steps of a log's rows in the order in which they were written."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._first: int | None = None
        self._interval = 1
        self._names: frozenset[str] = frozenset()
        self._stepped = False
        self.segment = 0
        self.run = 1

    def place(self, step: int | None, names: frozenset[str]) -> Placement:
        """Where a row with this step and these training metrics goes."""
        if step is not None:
            self._stepped = True
        elif self._last is None:
            step = 0
        else:
            step = self._last if self._stepped else self._last + 1
        move = self._move(step, names)
        if move == "late":
            assert self._last is not None
            step = self._last
        elif move != "same":
            self._turn(move, step)
        if names and (self._first is None or move == "restart"):
            self._first = step
        self._names = names | self._names if move in ("same", "late") else names
        return Placement(step=step, segment=self.segment, run=self.run, move=move)

    def _move(self, step: int, names: frozenset[str]) -> Move:
        if self._last is None or step > self._last:
            return "next"
        if step == self._last:
            return "same"
        behind = self._last - step
        if not names or (names.isdisjoint(self._names) and behind <= _LATE_INTERVALS * self._interval):
            return "late"
        return "restart" if self._first is not None and step <= self._first else "resume"

    def _turn(self, move: Move, step: int) -> None:
        if move == "next" and self._last is not None:
            self._interval = step - self._last
        if move in ("resume", "restart"):
            self.segment += 1
        if move == "restart":
            self.run += 1
        self._last = step
