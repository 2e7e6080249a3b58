"""The column that holds the right answer: which one, how a value of it is written, which answers to try."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rlprobe.verifier.measure.reading import uses_parameter
from rlprobe.verifier.rewarding import COMPLETIONS, NOT_COLUMNS, PROMPTS, Reward, Sample, answers

_BOXED = re.compile(r"\\boxed\{([^{}]*)\}")
_HASHES = re.compile(r"####\s*(.+?)\s*$")
NESTED = ("ground_truth", "answer", "target", "solution")  # keys of a column that is a mapping (verl's reward_model)


@dataclass(frozen=True, slots=True)
class Column:
    """An answer column.

    Attributes:
        name: of the column.
        write: an answer as a value of the column.
        pairs: (right, wrong) answers to try.
    """

    name: str
    write: Callable[[str], object]
    pairs: tuple[tuple[str, str], ...]


INVENTED: tuple[tuple[str, str], ...] = (("42", "17"), ("B", "C"), ("paris", "rome"))


def samples_of(rows: Sequence[Mapping[str, object]]) -> tuple[Sample, ...]:
    """Rows of the data set as samples; the completion is empty where the row has none."""
    found = []
    for row in rows:
        prompt = next((row[name] for name in PROMPTS if row.get(name) is not None), "Solve the problem.")
        columns = {str(name): value for name, value in row.items() if name not in NOT_COLUMNS}
        found.append(Sample(completion=completion_of(row) or "", prompt=prompt, columns=columns))
    return tuple(found)


def completion_of(row: Mapping[str, object]) -> str | None:
    """The gold completion of a row as text; None where it has none."""
    return _text(row, COMPLETIONS)


def wrong_of(row: Mapping[str, object]) -> str | None:
    """A completion that the row says is wrong; None where it has none."""
    return _text(row, ("wrong", "rejected", "wrong_completion", "bad"))


def answer_columns(reward: Reward, rows: Sequence[Mapping[str, object]]) -> tuple[Column, ...]:
    """Columns that may hold the answer, the likeliest first; empty where the function takes no such column."""
    taken = [name for name in reward.columns if uses_parameter(reward.target, name)]
    named = [name for name in taken if answers(name)]
    held = [name for name in taken if any(_answer_in(row.get(name)) for row in rows[:1])]
    likely = named or held or (taken if len(taken) == 1 and not rows else [])
    found: list[Column] = []
    for name in dict.fromkeys(likely):
        present = [row[name] for row in rows if row.get(name) is not None]
        found += _from_values(name, present) if present else _invented(name)
    return tuple(found)


def _from_values(name: str, values: Sequence[object]) -> list[Column]:
    first = values[0]
    stated = [one for one in (_answer_in(value) for value in values) if one]
    if not stated:
        return []
    pairs = []
    for right in dict.fromkeys(stated):
        others = [one for one in stated if one != right]
        pairs.append((right, others[0] if others else _other(right)))
    return [Column(name, _writer(first), tuple(pairs[:4]))]


def _invented(name: str) -> list[Column]:
    numeric = INVENTED[:1]
    return [
        Column(name, str, INVENTED),
        Column(name, int, numeric),
        Column(name, float, numeric),
        Column(name, lambda answer: [answer], INVENTED),
        Column(name, lambda answer: f"Adding gives it.\n#### {answer}", numeric),
        Column(name, lambda answer: f"It is $\\boxed{{{answer}}}$.", numeric),
        Column(name, lambda answer: {"ground_truth": answer}, numeric),
    ]


def _answer_in(value: object) -> str:
    """The answer that a value of the column states; "" where none can be told."""
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int | float):
        return f"{value:g}" if float(value).is_integer() and abs(value) < 1e6 else str(value)
    if isinstance(value, str):
        for pattern in (_BOXED, _HASHES):
            found = pattern.findall(value)
            if found:
                return str(found[-1])
        return value.strip() if 0 < len(value.strip()) <= 60 else ""
    if isinstance(value, Mapping):
        return next((_answer_in(value[key]) for key in NESTED if key in value), "")
    if isinstance(value, Sequence):
        return _answer_in(value[0]) if value else ""
    return ""


def _writer(value: object) -> Callable[[str], object]:
    """How an answer is written as a value like this one."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        kind = type(value)
        return lambda answer: kind(float(answer))
    if isinstance(value, str):
        stated = _answer_in(value)
        return (lambda answer: value.replace(stated, answer)) if "boxed" in value or "####" in value else str
    if isinstance(value, Mapping):
        key = next(key for key in NESTED if key in value)
        inner = _writer(value[key])
        return lambda answer: {**value, key: inner(answer)}
    if isinstance(value, Sequence):
        each = _writer(value[0])
        return lambda answer: [each(answer)]
    return str


def _other(answer: str) -> str:
    if re.fullmatch(r"-?[\d,.]+", answer):
        return "17" if answer != "17" else "42"
    if len(answer) == 1:
        return "B" if answer != "B" else "C"
    return "rome" if answer != "rome" else "paris"


def _text(row: Mapping[str, object], names: Sequence[str]) -> str | None:
    for name in names:
        value = row.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, Sequence) and value and isinstance(value[-1], Mapping):
            return str(value[-1].get("content", ""))
    return None
