"""All samples of one group: a prompt's completions that share a baseline in one step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rlprobe.forensics.evaluation import levels
from rlprobe.forensics.measures import Vocabulary
from rlprobe.forensics.query import Query, fetch, same, scan, select
from rlprobe.forensics.syntax import Expression, Name
from rlprobe.recording.layout import STEP
from rlprobe.recording.sample_blocks import SampleBlock

SampleRow = Mapping[str, object]


class NoSuchSamples(ValueError):
    """There is no sample of that kind; the message is one line that says what there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One group of one step.

    Attributes:
        step: its step.
        name: its id.
        rows: its samples, the highest reward first.
        steps: how many steps have a group of that id.
        size: samples a group has by the settings; None when unknown. Rows can be fewer where samples were left out.
    """

    step: int
    name: str
    rows: tuple[SampleRow, ...]
    steps: int
    size: int | None


def group(
    blocks: Sequence[SampleBlock],
    words: Vocabulary,
    wanted: str,
    where: tuple[Expression, ...] = (),
    size: int | None = None,
) -> Group:
    """The group that `wanted` names: ID, of the newest step that has it, or STEP/ID, where no ID is spelled so.

    Args:
        blocks: the samples.
        words: their columns.
        wanted: as the user wrote it.
        where: further conditions.
        size: samples a group has by the settings.

    Raises:
        NoSuchSamples: there is no such group.
    """
    column = _column(words)
    step, name = _named(wanted)
    conditions = (same(column, _typed(name, words, column)), *where)
    steps = _steps(blocks, words, conditions)
    if step is not None and step not in steps and words.kinds[column] == "text":
        whole = (same(column, wanted), *where)  # a trainer may name its groups STEP/NUMBER itself
        if found_whole := _steps(blocks, words, whole):
            step, name, conditions, steps = None, wanted, whole, found_whole
    if step is not None and step not in steps:
        told = f"it is in steps {_few(steps)}" if steps else "no step has it"
        raise NoSuchSamples(f"expected group {name} in step {step}, but {told}.")
    if not steps:
        raise NoSuchSamples(
            f"expected a group {name}, but no sample has it. `--sort reward` shows groups that there are."
        )
    chosen = max(steps) if step is None else step
    query = Query(where=(*conditions, same(STEP, chosen)), sort=_reward(words))
    found = select(blocks, query, words)
    return Group(step=chosen, name=name, rows=tuple(fetch(blocks, found)), steps=len(steps), size=size)


def _reward(words: Vocabulary) -> Expression | None:
    return Expression(text="reward", root=Name(name="reward", at=0)) if words.meaning("reward") is not None else None


def _column(words: Vocabulary) -> str:
    for column in ("group", "prompt_id", "prompt"):
        if column in words.kinds:
            return column
    raise NoSuchSamples("expected samples with a group, got none with group, prompt_id or prompt.")


def _named(wanted: str) -> tuple[int | None, str]:
    step, slash, name = wanted.partition("/")
    return (int(step), name) if slash and name and step.isdecimal() else (None, wanted)


def _typed(name: str, words: Vocabulary, column: str) -> str | float:
    if words.kinds[column] == "text":
        return name
    try:
        return float(name)
    except ValueError:
        raise NoSuchSamples(f"expected a group's number, got {name[:80]!r}.") from None


def _steps(blocks: Sequence[SampleBlock], words: Vocabulary, conditions: tuple[Expression, ...]) -> set[int]:
    step = Expression(text=STEP, root=Name(name=STEP, at=0))
    seen: set[int] = set()
    for _, table, mask in scan(blocks, conditions, words, (step,)):
        seen.update(np.unique(levels(step, table, words)[mask]).astype(np.int64).tolist())
    return seen


def _few(steps: set[int], most: int = 6) -> str:
    ordered = sorted(steps)
    return ", ".join(map(str, ordered[:most])) + (f" and {len(ordered) - most} more" if len(ordered) > most else "")
