"""Prompts whose completions earned most differently in two runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rlprobe.forensics.evaluation import levels
from rlprobe.forensics.groups import SampleRow
from rlprobe.forensics.measures import Vocabulary
from rlprobe.forensics.query import Query, fetch, same, scan, select, taken, vocabulary
from rlprobe.forensics.syntax import Expression, Name, Number, Pair
from rlprobe.recording.columns import fixed_values
from rlprobe.recording.layout import STEP
from rlprobe.recording.run import Run
from rlprobe.recording.sample_blocks import SampleBlock

FEWEST = 2  # samples of a prompt on each side
SHOWN = 5  # prompts that are told


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptDifference:
    """One prompt on both sides: how many samples, their mean reward, and one completion of each.

    Attributes:
        key: id of the prompt, or its text where there are no ids.
        prompt: its text; "" when it was not recorded.
        counts: samples of the prompt on each side.
        rewards: mean reward on each side.
        z: difference of the means over its standard error.
        samples: on each side the newest sample of the prompt; None where none could be read.
    """

    key: str
    prompt: str
    counts: tuple[int, int]
    rewards: tuple[float, float]
    z: float
    samples: tuple[SampleRow | None, SampleRow | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptDifferences:
    """The prompts that differ most, how many both sides have, and from which step on samples count."""

    entries: tuple[PromptDifference, ...] = ()
    shared: int = 0
    since: int | None = None


@dataclass(slots=True)
class _Sums:
    count: float = 0.0
    total: float = 0.0
    square: float = 0.0


_Side = list[tuple[Sequence[SampleBlock], Vocabulary]]


def prompt_differences(ours: Sequence[Run], theirs: Sequence[Run], since: int | None = None) -> PromptDifferences:
    """The prompts whose rewards differ most between the sides, beside their own scatter.

    Args:
        ours, theirs: the runs of each side.
        since: only samples of steps from here on, such as the step at which the runs part.
    """
    sides: tuple[_Side, _Side] = (_opened(ours), _opened(theirs))
    column = next((c for c in ("prompt_id", "prompt") if all(any(c in w.kinds for _, w in s) for s in sides)), None)
    if column is None:
        return PromptDifferences(since=since)
    where = () if since is None else (_since(since),)
    sums = [_sums(side, column, where) for side in sides]
    ranked = _ranked(sums[0], sums[1])
    entries = tuple(_entry(key, z, sums, sides, column, where) for key, z in ranked[:SHOWN])
    return PromptDifferences(entries=entries, shared=len(ranked), since=since)


def _opened(runs: Sequence[Run]) -> _Side:
    blocks = [run.sample_blocks() for run in runs]
    return [(each, vocabulary(each)) for each in blocks]


def _since(step: int) -> Expression:
    root = Pair(sign=">=", left=Name(name=STEP, at=0), right=Number(value=step, at=0), at=0)
    return Expression(text=f"step >= {step}", root=root)


def _sums(side: _Side, column: str, where: tuple[Expression, ...]) -> dict[str, _Sums]:
    out: dict[str, _Sums] = {}
    reward = Expression(text="reward", root=Name(name="reward", at=0))
    for blocks, words in side:
        if column not in words.kinds or words.meaning("reward") is None:
            continue
        named = Expression(text=column, root=Name(name=column, at=0))
        for _, table, mask in scan(blocks, where, words, (reward, named)):
            rewards = levels(reward, table, words)
            rows = np.flatnonzero(mask & np.isfinite(rewards))
            if len(rows) == 0 or column not in table.column_names:
                continue
            coded = taken(table.select([column]), rows).column(column).combine_chunks().dictionary_encode()
            codes, known = fixed_values(coded.indices, np.dtype(np.int32))
            _add(out, coded.dictionary.to_pylist(), codes[known].astype(np.int64), rewards[rows][known])
    return out


def _add(
    out: dict[str, _Sums], keys: list[str], codes: "np.ndarray[tuple[int], np.dtype[np.int64]]", rewards: object
) -> None:
    values = np.asarray(rewards, dtype=np.float64)
    counts, totals, squares = (np.bincount(codes, w, minlength=len(keys)) for w in (None, values, values * values))
    for key, count, total, square in zip(keys, counts.tolist(), totals.tolist(), squares.tolist(), strict=True):
        held = out.setdefault(key, _Sums())
        held.count, held.total, held.square = held.count + count, held.total + total, held.square + square


def _ranked(ours: dict[str, _Sums], theirs: dict[str, _Sums]) -> list[tuple[str, float]]:
    """(prompt, z), the largest |z| first; a prompt whose rewards never vary has the usual variance of the others."""
    keys = [key for key in ours if key in theirs and min(ours[key].count, theirs[key].count) >= FEWEST]
    if not keys:
        return []
    pooled = float(np.mean([(_variance(ours[key]) + _variance(theirs[key])) / 2.0 for key in keys])) + 1e-12
    ranked = []
    for key in keys:
        a, b = ours[key], theirs[key]
        error = (_variance(a) + pooled) / 2.0 / a.count + (_variance(b) + pooled) / 2.0 / b.count
        ranked.append((key, (b.total / b.count - a.total / a.count) / float(np.sqrt(error))))
    return sorted(ranked, key=lambda pair: (-abs(pair[1]), pair[0]))


def _variance(sums: _Sums) -> float:
    return max(0.0, sums.square / sums.count - (sums.total / sums.count) ** 2)


def _entry(
    key: str,
    z: float,
    sums: list[dict[str, _Sums]],
    sides: tuple[_Side, _Side],
    column: str,
    where: tuple[Expression, ...],
) -> PromptDifference:
    samples = tuple(_newest(side, column, key, where) for side in sides)
    prompt = next((str(row["prompt"]) for row in samples if row is not None and "prompt" in row), "")
    a, b = (side[key] for side in sums)
    return PromptDifference(
        key=key,
        prompt=prompt,
        counts=(int(a.count), int(b.count)),
        rewards=(a.total / a.count, b.total / b.count),
        z=z,
        samples=(samples[0], samples[1]),
    )


def _newest(side: _Side, column: str, key: str, where: tuple[Expression, ...]) -> SampleRow | None:
    step = Expression(text=STEP, root=Name(name=STEP, at=0))
    for blocks, words in side:
        if column in words.kinds:
            found = select(blocks, Query(where=(*where, same(column, key)), sort=step, limit=1), words)
            if len(found):
                return next(fetch(blocks, found))
    return None
