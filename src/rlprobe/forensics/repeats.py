"""What a text repeats: stretches that go round and round, and sequences of words that occurred before."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GRAM = 4  # words of a sequence, as the recorder's repetition counts tokens
ROUNDS = 4  # times that a unit must stand in a row before it counts as going round
SHORTEST = 8  # characters of the shortest stretch; "haha" and "----" are no finding
LONGEST_UNIT = 240  # characters of a repeated unit
LONGEST_TEXT = 1 << 16  # characters that are looked at
_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """text[start:end] is a unit of `unit` characters, `rounds` times, the last one whole."""

    start: int
    end: int
    unit: int
    rounds: int


def repeated_fraction(text: str) -> float:
    """Fraction of the sequences of GRAM words that occurred before in the text; 0 for a short one."""
    words = _WORD.findall(text[:LONGEST_TEXT])
    count = len(words) - GRAM + 1
    if count < 1:
        return 0.0
    return 1.0 - len({tuple(words[index : index + GRAM]) for index in range(count)}) / count


def repeated_spans(text: str) -> Iterator[tuple[int, int]]:
    """Stretches of the text, in order and apart, all of whose words belong to a sequence that occurred before."""
    words = [match.span() for match in _WORD.finditer(text[:LONGEST_TEXT])]
    seen: set[tuple[str, ...]] = set()
    marked: tuple[int, int] | None = None  # first and last word of the stretch so far
    for index in range(len(words) - GRAM + 1):
        gram = tuple(text[start:end] for start, end in words[index : index + GRAM])
        if gram in seen:
            last = index + GRAM - 1
            if marked is not None and index > marked[1] + 1:
                yield words[marked[0]][0], words[marked[1]][1]
                marked = None
            marked = (index, last) if marked is None else (marked[0], last)
        seen.add(gram)
    if marked is not None:
        yield words[marked[0]][0], words[marked[1]][1]


def loops(text: str) -> list[Loop]:
    """Stretches that repeat one unit at least ROUNDS times in a row, in order; where two overlap, the longer one."""
    codes = np.frombuffer(text[:LONGEST_TEXT].encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    found: list[Loop] = []
    for unit in range(1, min(LONGEST_UNIT, len(codes) // ROUNDS) + 1):
        for start, end in _runs(codes[unit:] == codes[:-unit]):
            rounds = (end - start + unit) // unit
            if rounds >= ROUNDS and rounds * unit >= SHORTEST:
                slack = end - start + unit - rounds * unit
                start += next((i for i in range(slack + 1) if not text[start + i].isspace()), 0)  # begin with a word
                found.append(Loop(start=start, end=start + rounds * unit, unit=unit, rounds=rounds))
    found.sort(key=lambda loop: (loop.start - loop.end, loop.unit))
    taken: list[Loop] = []
    for loop in found:
        if all(loop.end <= other.start or loop.start >= other.end for other in taken):
            taken.append(loop)
    return sorted(taken, key=lambda loop: loop.start)


def _runs(same: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Ends of the stretches of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
