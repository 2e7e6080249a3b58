"""Sample rows that lie beside a log: foreign columns under their canonical names, in bounded memory."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np

from rlprobe.recording.private_text import digest
from rlprobe.recording.run import Samples

MAX_ROWS: Final = 200_000  # sample rows held at once
MAX_CHARACTERS: Final = 256 << 20  # of their texts
_TEXTS: Final = ("prompt", "completion")
_KEPT_AS_THEY_ARE: Final = frozenset({"step", "advantage", "group", "reward", "prompt", "completion"})

SampleRow = Mapping[str, object]


def samples_of(rows: Iterable[SampleRow], columns: tuple[str, ...] | None) -> Samples:
    """The samples of rows whose keys are canonical; those beyond the bounds are left out."""
    held: list[SampleRow] = []
    characters = 0
    for row in rows:
        characters += sum(len(value) for value in row.values() if isinstance(value, str))
        if len(held) >= MAX_ROWS or characters > MAX_CHARACTERS:
            break
        held.append(row)
    names = dict.fromkeys(name for row in held for name in row)
    wanted = [name for name in names if columns is None or name in columns]
    return Samples(columns={name: _column([row.get(name) for row in held]) for name in wanted}, rows=len(held))


def named(row: SampleRow, names: Mapping[str, str], step: int, place: int) -> dict[str, object]:
    """One sample: known keys by their canonical name, numbers of unknown keys as a reward function's.

    Args:
        row: as it was logged.
        names: foreign key -> canonical column.
        step: the step, where the row itself has none.
        place: its place in the step.
    """
    out: dict[str, object] = {"step": step, "sample": place}
    for key, value in row.items():
        name = names.get(key, key)
        if name in _TEXTS:
            out[name] = text_of(value)
            if isinstance(value, list):
                out[f"{name}_messages"] = json.dumps(value, default=str)
        elif name in _KEPT_AS_THEY_ARE or not _is_number(value):
            out[name] = (
                value
                if isinstance(value, str | int | float | bool) or value is None
                else json.dumps(value, default=str)
            )
        else:
            out[f"reward/{name}"] = value
    prompt = out.get("prompt")
    if isinstance(prompt, str):
        out["prompt_id"] = digest(prompt)
        out.setdefault("group", out["prompt_id"])
    return out


def text_of(value: object) -> str:
    """A prompt or completion as text: a chat's messages become one line of role and content each."""
    if isinstance(value, list):
        return "\n".join(_message(each) for each in value)
    return value if isinstance(value, str) else "" if value is None else str(value)


def transposed(document: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Rows of an object of equally long lists; what is no list counts for every row."""
    lists = {key: value for key, value in document.items() if isinstance(value, list)}
    length = min((len(value) for value in lists.values()), default=0)
    for place in range(length):
        yield {key: value[place] if key in lists else value for key, value in document.items()}  # type: ignore[index]  # a list


def _message(each: object) -> str:
    if not isinstance(each, dict):
        return str(each)
    content = each.get("content")
    return f"{each.get('role', '')}: {content if isinstance(content, str) else json.dumps(content, default=str)}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _column(values: list[object]) -> object:
    if all(_is_number(value) for value in values):
        whole = all(type(value) is int and abs(value) < 1 << 62 for value in values)
        return np.array(values, dtype=np.int64 if whole else np.float64)
    if any(_is_number(value) for value in values) and all(_is_number(value) or value is None for value in values):
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return values
