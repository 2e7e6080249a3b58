"""Frames of steps become rows: one a step, merged by key; the newest frame wins, derived values only fill gaps."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import msgspec
import numpy as np

from rlprobe.recording.columns import NO_ROWS, Rows
from rlprobe.recording.frames import Position
from rlprobe.recording.journal import StepFrame, StepPayload
from rlprobe.recording.layout import BLOCK, DERIVED, LOGGED, MOST_OF_A_BLOCK
from rlprobe.recording.run import BoolArray, FloatArray, IntArray
from rlprobe.recording.values import metric_name

_payloads = msgspec.msgpack.Decoder(StepPayload)
_names = msgspec.msgpack.Decoder(tuple[str, ...])
_KINDS = (LOGGED, DERIVED)
_LEAST, _MOST = -(2**63), 2**63 - 1
_MOST_SEQUENCE = 2**62  # so that counting on from there stays within 64 bits


def decode_steps(payloads: Iterable[bytes | memoryview]) -> tuple[list[StepFrame], int]:
    """The frames of steps, and how many payloads were whole but not a frame of steps as the format describes it."""
    frames: list[StepFrame] = []
    foreign = 0
    known: dict[bytes, tuple[str, ...]] = {}
    last: msgspec.Raw | None = None  # of the frame before, which mostly names the same metrics
    names: tuple[str, ...] = ()
    for payload in payloads:
        try:
            found = _payloads.decode(payload)
            steps = _steps_of(found)
            if last is None or found.names != last:
                encoded = bytes(found.names)
                names = known[encoded] = known.get(encoded) or tuple(map(metric_name, _names.decode(encoded)))
                last = found.names
        except (msgspec.MsgspecError, UnicodeDecodeError):
            foreign += 1
            continue
        if not steps or len(found.values) != 8 * len(names) * len(steps) or not 0 <= found.sequence < _MOST_SEQUENCE:
            foreign += 1
        else:
            kind = LOGGED if found.kind == BLOCK else found.kind
            frames.append(StepFrame(kind, found.sequence, steps, names, found.values))
    return frames, foreign


def _steps_of(found: StepPayload) -> tuple[int, ...]:
    """The steps of a frame; none where it is not as the format describes it."""
    if found.kind == BLOCK:
        count, rest = divmod(len(found.steps), 8)
        return () if rest or count > MOST_OF_A_BLOCK else struct.unpack(f"<{count}q", found.steps)
    return (found.step,) if found.kind in _KINDS and _LEAST <= found.step <= _MOST else ()


def beyond(frame: StepFrame, segment: int, position: Position) -> StepFrame | None:
    """What of a segment's frame lies behind a position; None where nothing does."""
    if segment != position[0]:
        return frame if segment > position[0] else None
    return frame.behind(position[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Merged rows in ascending steps; `derived` says which cells were computed from samples instead of logged."""

    rows: Rows = NO_ROWS
    derived: Mapping[str, BoolArray] = field(default_factory=dict)


@dataclass(slots=True)
class _Cells:
    """One column while it is put together."""

    values: FloatArray
    logged: BoolArray
    derived: BoolArray
    newest: IntArray


def merge(frames: Sequence[StepFrame], segment: int) -> Merged:
    """The rows of one segment's frames, which are in ascending sequence."""
    if not frames:
        return Merged()
    counts = np.array([len(frame.steps) for frame in frames])
    starts = np.cumsum(counts) - counts
    sequences = _counted_on(np.array([frame.sequence for frame in frames], dtype=np.int64), counts)
    listed = np.fromiter(chain.from_iterable(frame.steps for frame in frames), np.int64, len(sequences))
    groups = _groups(frames)
    if len(groups) == 1 and (listed[1:] > listed[:-1]).all():  # each step once, in order: nothing to merge
        return _unmerged(frames, listed, sequences, segment)
    steps, home = np.unique(listed, return_inverse=True)
    last = np.full(len(steps), -1, dtype=np.int64)
    np.maximum.at(last, home, sequences)
    cells: dict[str, _Cells] = {}
    for kind in (DERIVED, LOGGED):
        for (its_kind, _), members in groups.items():
            if its_kind == kind:
                places = _counted_on(starts[members], counts[members])
                chosen = [frames[index] for index in members]
                _fill(cells, len(steps), home[places], sequences[places], chosen)
        for column in cells.values():
            column.newest.fill(-1)
    rows = Rows(
        steps=steps,
        segments=np.full(len(steps), segment, dtype=np.int64),
        sequences=last,
        columns={name: (column.values, column.logged) for name, column in cells.items()},
    )
    return Merged(rows=rows, derived={name: column.derived for name, column in cells.items()})


def _counted_on(firsts: IntArray, counts: IntArray) -> IntArray:
    """Each number and those that follow it, so many in all."""
    ends = np.cumsum(counts)
    out: IntArray = np.repeat(firsts - (ends - counts), counts) + np.arange(ends[-1])
    return out


def _groups(frames: Sequence[StepFrame]) -> dict[tuple[str, tuple[str, ...]], list[int]]:
    """Which frames are of one kind and name the same metrics."""
    groups: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    members: list[int] = []
    kind, names = "", tuple[str, ...]()  # of the frame before: most are of one group, whose key is long to look up
    for index, frame in enumerate(frames):
        if frame.names is not names or frame.kind != kind:
            kind, names = frame.kind, frame.names
            members = groups.setdefault((kind, names), [])
        members.append(index)
    return groups


def _matrix(frames: Sequence[StepFrame]) -> FloatArray:
    """(steps, names) the values of frames that name the same metrics."""
    values = np.frombuffer(b"".join([frame.values for frame in frames]), dtype="<f8")
    return values.reshape(-1, len(frames[0].names)) if frames[0].names else np.empty((0, 0))


def _unmerged(frames: Sequence[StepFrame], steps: IntArray, sequences: IntArray, segment: int) -> Merged:
    """The rows of frames that name the same metrics, and each step of which is logged once, in ascending order."""
    everywhere = np.ones(len(steps), dtype=bool)
    derived = everywhere if frames[0].kind == DERIVED else ~everywhere
    by_name: dict[str, FloatArray] = {}
    for name, values in zip(frames[0].names, np.ascontiguousarray(_matrix(frames).T), strict=True):
        by_name.setdefault(name, values)
    rows = Rows(
        steps=steps,
        segments=np.full(len(steps), segment, dtype=np.int64),
        sequences=sequences,
        columns={name: (values, everywhere) for name, values in by_name.items()},
    )
    return Merged(rows=rows, derived=dict.fromkeys(by_name, derived))


def _fill(cells: dict[str, _Cells], rows: int, home: IntArray, sequences: IntArray, frames: list[StepFrame]) -> None:
    """Enter the values of frames that name the same metrics; of two frames for one cell the newer stays."""
    derived = frames[0].kind == DERIVED
    listed = frames[0].names
    matrix = _matrix(frames)
    unbroken = slice(home[0], home[-1] + 1) if (np.diff(home) == 1).all() else home  # one frame a step, none missing
    for position, name in enumerate(listed):
        column = cells.get(name)
        if column is None:
            empty = np.zeros(rows, dtype=bool)
            column = cells[name] = _Cells(np.full(rows, np.nan), empty, empty.copy(), np.full(rows, -1, dtype=np.int64))
            where, values, numbers = unbroken, matrix[:, position], sequences
        else:
            newer = sequences > column.newest[home]
            where, values, numbers = home[newer], matrix[newer, position], sequences[newer]
        column.values[where] = values
        column.logged[where] = True
        column.derived[where] = derived
        column.newest[where] = numbers


def patch(rows: Rows, merged: Merged) -> tuple[Rows, Merged]:
    """Enter values that arrived after their row had been written.

    Returns:
        the rows with the values of `merged` that belong to them (derived values fill gaps only), and what of `merged`
        belongs to none of them.
    """
    place = {key: row for row, key in enumerate(zip(rows.segments.tolist(), rows.steps.tolist(), strict=True))}
    late = merged.rows
    target = np.array(
        [place.get(key, -1) for key in zip(late.segments.tolist(), late.steps.tolist(), strict=True)], dtype=np.int64
    )
    belongs = target >= 0
    if not belongs.any():
        return rows, merged
    columns = {name: (values.copy(), logged.copy()) for name, (values, logged) in rows.columns.items()}
    for name, (values, logged) in late.columns.items():
        if name not in columns:
            columns[name] = (np.full(len(rows), np.nan), np.zeros(len(rows), dtype=bool))
        old_values, old_logged = columns[name]
        fills = merged.derived[name] & old_logged[target]
        chosen = belongs & logged & ~fills
        old_values[target[chosen]] = values[chosen]
        old_logged[target[chosen]] = True
    sequences = rows.sequences.copy()
    sequences[target[belongs]] = np.maximum(sequences[target[belongs]], late.sequences[belongs])
    patched = Rows(steps=rows.steps, segments=rows.segments, sequences=sequences, columns=columns)
    rest = ~belongs
    kept = late.take(rest)
    return patched, Merged(rows=kept, derived={name: merged.derived[name][rest] for name in kept.columns})


def concatenate(pieces: Sequence[Rows]) -> Rows:
    """The rows one behind the other; a metric that a piece lacks is not logged there."""
    pieces = [piece for piece in pieces if len(piece)]
    if len(pieces) <= 1:
        return pieces[0] if pieces else NO_ROWS
    total = sum(map(len, pieces))
    columns: dict[str, tuple[FloatArray, BoolArray]] = {}
    for name in dict.fromkeys(name for piece in pieces for name in piece.columns):
        values, logged = np.full(total, np.nan), np.zeros(total, dtype=bool)
        start = 0
        for piece in pieces:
            if name in piece.columns:
                values[start : start + len(piece)], logged[start : start + len(piece)] = piece.columns[name]
            start += len(piece)
        columns[name] = (values, logged)
    return Rows(
        steps=np.concatenate([piece.steps for piece in pieces]),
        segments=np.concatenate([piece.segments for piece in pieces]),
        sequences=np.concatenate([piece.sequences for piece in pieces]),
        columns=columns,
    )
