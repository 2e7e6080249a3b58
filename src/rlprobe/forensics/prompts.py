"""One prompt over a run: when it was trained on, what its completions earned, what they looked like early and late."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rlprobe.forensics.evaluation import levels
from rlprobe.forensics.groups import NoSuchSamples, SampleRow
from rlprobe.forensics.measures import Vocabulary
from rlprobe.forensics.query import Query, fetch, of_prompt, same, scan, select, taken
from rlprobe.forensics.syntax import Expression, Name
from rlprobe.recording.layout import STEP
from rlprobe.recording.run import FloatArray, IntArray
from rlprobe.recording.sample_blocks import SampleBlock

SHOWN = 3  # visits whose best and worst completion are shown: the first, the middle one and the last


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One step that trained on the prompt: how many samples, their rewards and their length.

    Attributes:
        step: the step.
        count: samples of the prompt in it.
        reward: (lowest, mean, highest); NaN where no sample has one.
        length: mean length in the unit of the timeline; NaN where unknown.
    """

    step: int
    count: int
    reward: tuple[float, float, float]
    length: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """One prompt over the run.

    Attributes:
        key: the prompt's id where the samples have ids, else the prompt.
        prompt: its text; "" when it was not recorded.
        visits: every step that trained on it, oldest first.
        samples: for the first, the middle and the last visit, its samples of the highest and of the lowest reward.
        others: (key, samples) of other prompts that fit what was asked for, the most frequent first.
        unit: what lengths are in: tokens, or characters where tokens were not recorded.
    """

    key: str
    prompt: str
    visits: tuple[Visit, ...]
    samples: tuple[SampleRow, ...]
    others: tuple[tuple[str, int], ...]
    unit: str


def timeline(
    blocks: Sequence[SampleBlock], words: Vocabulary, wanted: str, where: tuple[Expression, ...] = ()
) -> Timeline:
    """The timeline of the prompt that `wanted` names: its id, the beginning of it, or a part of its text.

    Raises:
        NoSuchSamples: no sample's prompt fits.
    """
    column = next((name for name in ("prompt_id", "prompt") if name in words.kinds), None)
    if column is None:
        raise NoSuchSamples("expected samples with prompts, got none with prompt or prompt_id.")
    frequent = _frequent(blocks, words, column, (of_prompt(wanted, words), *where))
    if not frequent:
        raise NoSuchSamples(f"expected a prompt with the id or the text {wanted[:80]!r}, but no sample has one.")
    key = frequent[0][0]
    conditions = (same(column, key), *where)
    visits, unit = _visits(blocks, words, conditions)
    samples = tuple(_samples(blocks, words, conditions, [visit.step for visit in visits]))
    prompt = next((str(row["prompt"]) for row in samples if "prompt" in row), key if column == "prompt" else "")
    return Timeline(key=key, prompt=prompt, visits=visits, samples=samples, others=tuple(frequent[1:]), unit=unit)


def _frequent(
    blocks: Sequence[SampleBlock], words: Vocabulary, column: str, where: tuple[Expression, ...]
) -> list[tuple[str, int]]:
    """(prompt, samples), the most frequent first."""
    counts: dict[str, int] = {}
    for _, table, mask in scan(blocks, where, words, (Expression(text=column, root=Name(name=column, at=0)),)):
        rows = np.flatnonzero(mask)
        if len(rows) and column in table.column_names:
            for value in _taken(table, column, rows):
                counts[value] = counts.get(value, 0) + 1
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _taken(table: pa.Table, column: str, rows: IntArray) -> list[str]:
    values = taken(table, rows).column(column).to_pylist()
    return [value for value in values if isinstance(value, str)]


def _visits(
    blocks: Sequence[SampleBlock], words: Vocabulary, where: tuple[Expression, ...]
) -> tuple[tuple[Visit, ...], str]:
    wanted = {name: Expression(text=name, root=Name(name=name, at=0)) for name in (STEP, "reward", "length")}
    known = {name: each for name, each in wanted.items() if words.meaning(name) is not None}
    parts: dict[str, list[FloatArray]] = {name: [] for name in wanted}
    for _, table, mask in scan(blocks, where, words, tuple(known.values())):
        for name, held in parts.items():
            held.append(levels(known[name], table, words)[mask] if name in known else np.full(int(mask.sum()), np.nan))
    steps, rewards, lengths = (np.concatenate(held) if held else np.empty(0) for held in parts.values())
    visits = tuple(
        Visit(step=int(step), count=int(at.sum()), reward=_spread(rewards[at]), length=_mean(lengths[at]))
        for step in np.unique(steps)
        if (at := steps == step) is not None
    )
    return visits, "tokens" if "completion_tokens" in words.kinds else "characters"


def _spread(values: FloatArray) -> tuple[float, float, float]:
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.mean()), float(finite.max())) if len(finite) else (np.nan, np.nan, np.nan)


def _mean(values: FloatArray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")


def _samples(
    blocks: Sequence[SampleBlock], words: Vocabulary, where: tuple[Expression, ...], steps: Sequence[int]
) -> list[SampleRow]:
    places = sorted({0, len(steps) // 2, len(steps) - 1})[:SHOWN]
    order = Expression(text="reward", root=Name(name="reward", at=0)) if words.meaning("reward") is not None else None
    out: list[SampleRow] = []
    for place in places:
        found = select(blocks, Query(where=(*where, same(STEP, steps[place])), sort=order), words)
        ends = np.unique([0, len(found) - 1])
        out.extend(fetch(blocks, found.take(ends)))
    return out
