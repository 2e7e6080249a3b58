"""Which samples: conditions, order and number, answered block by block from the columns that the question needs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa

from rlprobe.forensics.evaluation import holds, levels
from rlprobe.forensics.measures import Kind, Vocabulary, kind_of
from rlprobe.forensics.syntax import Call, Expression, Literal, Name, Node, Number, Pair
from rlprobe.recording.layout import STEP
from rlprobe.recording.run import BoolArray, FloatArray, IntArray
from rlprobe.recording.sample_blocks import SampleBlock

_PROMPT_ID = re.compile(r"[0-9a-f]{4,16}")
_EVERYTHING = (-(1 << 62), 1 << 62)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question: which samples, in which order, how many.

    Attributes:
        where: conditions that all have to hold.
        sort: what the samples are ordered by; samples without it come last. None is the recorded order.
        ascending: whether the smallest comes first.
        limit: how many; None is all.
    """

    where: tuple[Expression, ...] = ()
    sort: Expression | None = None
    ascending: bool = False
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Where the answer lies.

    Attributes:
        blocks: (n,) index of the block of each sample, in the order asked for.
        rows: (n,) row in the block.
        keys: (n,) what they are ordered by; NaN where there is none.
        matched: samples that fulfil the conditions.
        scanned: samples that were looked at.
    """

    blocks: IntArray
    rows: IntArray
    keys: FloatArray
    matched: int
    scanned: int

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, where: IntArray) -> "Found":
        """Some of them, in the given order."""
        return Found(
            blocks=self.blocks[where],
            rows=self.rows[where],
            keys=self.keys[where],
            matched=self.matched,
            scanned=self.scanned,
        )


def vocabulary(blocks: Sequence[SampleBlock], reward: str = "reward") -> Vocabulary:
    """The columns of all blocks with their kinds; one that is text anywhere is text."""
    kinds: dict[str, Kind] = {}
    for types in {id(block.types): block.types for block in blocks}.values():
        for name, arrow in types.items():
            kind, held = kind_of(arrow), kinds.get(name)
            if kind is None or kind == held:
                continue
            kinds[name] = kind if held is None else "text" if "text" in (kind, held) else "number"
    return Vocabulary(kinds=kinds, reward=reward)


def select(blocks: Sequence[SampleBlock], query: Query, words: Vocabulary) -> Found:
    """The places of the samples that a query asks for.

    Raises:
        ExpressionError: a condition or the order speaks of what the samples do not have.
    """
    best = _Best(query)
    for index, table, mask in scan(blocks, query.where, words, () if query.sort is None else (query.sort,)):
        rows = np.flatnonzero(mask)
        keys = np.zeros(len(rows)) if query.sort is None else levels(query.sort, table, words)[rows]
        best.add(index, rows, keys, table.num_rows)
    return best.found()


def scan(
    blocks: Sequence[SampleBlock], where: Sequence[Expression], words: Vocabulary, also: Sequence[Expression] = ()
) -> Iterator[tuple[int, pa.Table, BoolArray]]:
    """Each block that can hold a match: its index, the columns that `where` and `also` need, and which rows match."""
    names = frozenset[str]().union(*(words.columns(each) for each in (*where, *also)))
    first, last = steps_of(where)
    for index, block in enumerate(blocks):
        if block.steps is not None and (block.steps[1] < first or block.steps[0] > last):
            continue
        table = block.table(sorted(names | {STEP}))
        mask = np.ones(table.num_rows, dtype=bool)
        for condition in where:
            mask &= holds(condition, table, words)
        yield index, table, mask


def fetch(blocks: Sequence[SampleBlock], found: Found, *, binary: bool = False) -> Iterator[Mapping[str, object]]:
    """The samples themselves, in order, each with the columns that it has a value in; every block is read once."""
    held: dict[tuple[int, int], Mapping[str, object]] = {}
    for index in np.unique(found.blocks).tolist():
        rows = np.unique(found.rows[found.blocks == index])
        block = blocks[index]
        table = block.table([name for name, arrow in block.types.items() if binary or kind_of(arrow) is not None])
        for row, values in zip(rows.tolist(), taken(table, rows).to_pylist(), strict=True):
            held[index, row] = {name: value for name, value in values.items() if value is not None}
    yield from (held[place] for place in zip(found.blocks.tolist(), found.rows.tolist(), strict=True))


def taken(table: pa.Table, rows: IntArray) -> pa.Table:
    """Some rows of a table; the index is built from its buffer, because pyarrow's converter would import pandas."""
    kept = np.ascontiguousarray(rows[rows < table.num_rows], dtype=np.int64)
    return table.take(pa.Array.from_buffers(pa.int64(), len(kept), [None, pa.py_buffer(kept)]))


def between(first: int, last: int) -> Expression:
    """Samples of the steps from `first` to `last`."""
    low = Pair(sign=">=", left=Name(name=STEP, at=0), right=Number(value=first, at=0), at=0)
    high = Pair(sign="<=", left=Name(name=STEP, at=0), right=Number(value=last, at=0), at=0)
    root = Pair(sign="and", left=low, right=high, at=0)
    return Expression(text=f"{first} <= step <= {last}", root=root)


def near(step: int, within: int) -> Expression:
    """Samples of the steps around one."""
    return between(step - within, step + within)


def distance(step: int) -> Expression:
    """How far a sample's step lies from one."""
    gap = Pair(sign="-", left=Name(name=STEP, at=0), right=Number(value=step, at=0), at=0)
    return Expression(text=f"abs(step - {step})", root=Call(function="abs", arguments=(gap,), at=0))


def holding(text: str, column: str) -> Expression:
    """Samples whose column holds a text, in upper or lower case."""
    lowered = Call(function="lower", arguments=(Name(name=column, at=0),), at=0)
    root = Pair(sign="in", left=Literal(value=text.lower(), at=0), right=lowered, at=0)
    return Expression(text=f"{text!r} in {column}", root=root)


def of_prompt(wanted: str, words: Vocabulary) -> Expression:
    """Samples of the prompts that have this id, or the beginning of it, or that hold this text."""
    either: list[Node] = []
    if "prompt_id" in words.kinds and _PROMPT_ID.fullmatch(wanted):
        pattern = Literal(value=f"^{wanted}", at=0)
        either.append(Call(function="matches", arguments=(Name(name="prompt_id", at=0), pattern), at=0))
    if "prompt" in words.kinds or not either:
        either.append(holding(wanted, "prompt").root)
    root = reduce(lambda a, b: Pair(sign="or", left=a, right=b, at=0), either)
    return Expression(text=f"prompt {wanted!r}", root=root)


def same(column: str, value: str | float) -> Expression:
    """Samples whose column has this value."""
    literal = Literal(value=value, at=0) if isinstance(value, str) else Number(value=value, at=0)
    root = Pair(sign="==", left=Name(name=column, at=0), right=literal, at=0)
    return Expression(text=f"{column} == {value!r}", root=root)


def steps_of(where: Sequence[Expression]) -> tuple[float, float]:
    """Smallest and largest step that the conditions let through, as far as they compare `step` with numbers."""
    first, last = map(float, _EVERYTHING)
    for each in where:
        low, high = _span(each.root)
        first, last = max(first, low), min(last, high)
    return first, last


def _span(node: Node) -> tuple[float, float]:
    low, high = map(float, _EVERYTHING)
    match node:
        case Pair(sign="and", left=left, right=right):
            (a, b), (c, d) = _span(left), _span(right)
            return max(a, c), min(b, d)
        case Pair(sign=sign, left=Name(name="step"), right=Number(value=value)):
            pass
        case Pair(sign=sign, left=Number(value=value), right=Name(name="step")):
            sign = _MIRRORED.get(sign, sign)
        case _:
            return low, high
    return (value if sign in (">", ">=", "==") else low, value if sign in ("<", "<=", "==") else high)


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class _Best:
    """The first `limit` samples of the order so far; ties keep the recorded order."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._parts: list[tuple[IntArray, IntArray, FloatArray]] = []
        self.matched = self.scanned = 0

    def add(self, block: int, rows: IntArray, keys: FloatArray, scanned: int) -> None:
        """The matches of one block."""
        self.matched += len(rows)
        self.scanned += scanned
        limit = self._query.limit
        if limit is not None and len(rows) > limit:
            rows, keys = self._first(rows, keys, limit)
        self._parts.append((np.full(len(rows), block, dtype=np.int64), rows, keys))

    def found(self) -> Found:
        """The answer."""
        blocks, rows, keys = (
            (np.concatenate(each) for each in zip(*self._parts, strict=True))
            if self._parts
            else (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        )
        order = self._order(keys)[: self._query.limit]
        return Found(
            blocks=blocks[order], rows=rows[order], keys=keys[order], matched=self.matched, scanned=self.scanned
        )

    def _first(self, rows: IntArray, keys: FloatArray, limit: int) -> tuple[IntArray, FloatArray]:
        """The rows of one block that can be among the first; as many as there are ties at the edge."""
        if self._query.sort is None:
            return rows[:limit], keys[:limit]
        worth = self._worth(keys)
        edge = np.partition(worth, limit - 1)[limit - 1]
        better = np.flatnonzero(worth < edge)
        ties = np.flatnonzero(worth == edge)[: limit - len(better)]
        kept = np.sort(np.concatenate([better, ties]))
        return rows[kept], keys[kept]

    def _order(self, keys: FloatArray) -> IntArray:
        if self._query.sort is None:
            return np.arange(len(keys))
        return np.argsort(self._worth(keys), kind="stable")

    def _worth(self, keys: FloatArray) -> FloatArray:
        """The smaller the earlier; what has no key comes last, after infinities."""
        worth = keys if self._query.ascending else -keys
        bounded = np.clip(worth, -1e308, 1e308)
        return np.where(np.isnan(worth), np.inf, bounded)
