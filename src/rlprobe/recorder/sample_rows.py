"""Sample rows as callers give them become columns as the format names them. Runs on the writer thread."""

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from rlprobe.recorder.items import Row
from rlprobe.recorder.opening import RecorderError
from rlprobe.recording.journal import frame
from rlprobe.recording.layout import SAMPLE_ROWS, SEGMENT, SEQUENCE, STEP
from rlprobe.recording.private_text import digest, holds_integers, ids_without_text, tells_text
from rlprobe.recording.sample_columns import can_wait, clean_column, column_type
from rlprobe.recording.values import Bad

CaptureText = Literal[True, "hash", False]
CAPTURE_TEXT = "RLPROBE_CAPTURE_TEXT"  # asked where the caller does not say
_CHOICES: tuple[CaptureText, ...] = (True, "hash", False)
_NAMED: Mapping[str, CaptureText] = {"": True, "yes": True, "hash": "hash", "no": False}
_OWN = frozenset((STEP, SEGMENT, SEQUENCE))
_NESTED = {"rewards": "reward/", "reward_texts": "reward_text/"}
_MESSAGES = {"prompt": "prompt_messages", "completion": "completion_messages"}
_encode = msgspec.msgpack.Encoder().encode
_COUNTED = frozenset(("token_kl",))  # token columns of which statistics need every sample, as it will be read back


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleBlock:
    """Clean sample columns of equal length, and the first value of each column that had to be left out.

    Arrays that only kept rows need are still arrays: most rows are not kept (recorder/sampling.py packs the others).
    """

    rows: int
    columns: dict[str, list[object]] = field(default_factory=dict)
    bad: list[Bad] = field(default_factory=list)


def sample_block(rows: Sequence[Row] | Mapping[str, Sequence[object]]) -> SampleBlock:
    """The rows as columns of the format's types."""
    raw, bad = _columns(rows)
    count = max(map(len, raw.values()), default=0)
    for name, kept in _MESSAGES.items():
        _split_messages(raw, name, kept)
    raw.setdefault("sample", list(range(count)))
    if "prompt_id" not in raw and "prompt" in raw:
        raw["prompt_id"] = _digests(raw["prompt"])
    clean: dict[str, list[object]] = {}
    for name, values in raw.items():
        if len(values) != count:
            bad.append(Bad(metric=name, value=f"{len(values)} values", reason=f"expected {count}, one a sample"))
            continue
        kind = column_type(name, values)
        if name not in _COUNTED and can_wait(kind, values):
            clean[name] = list(values)
            continue
        clean[name], wrong = clean_column(kind, values)
        if wrong is not None:
            bad.append(Bad(metric=name, value=wrong[0], reason=wrong[1]))
    return SampleBlock(rows=count, columns=clean, bad=bad)


def _columns(rows: Sequence[Row] | Mapping[str, Sequence[object]]) -> tuple[dict[str, list[object]], list[Bad]]:
    """Columns by name, nested rewards spread out, the format's own columns left out."""
    given: dict[str, object]
    if isinstance(rows, Mapping):
        given = {str(name): _listed(values) for name, values in rows.items()}
        bad: list[Bad] = []
    else:
        bad = [
            Bad(metric="samples", value=type(row).__name__, reason="expected a dict a sample")
            for row in rows
            if type(row) is not dict and not isinstance(row, Mapping)  # the first is quick
        ][:1]
        given = _turned(rows)
    for name, prefix in _NESTED.items():
        nested = given.pop(name, None)
        if nested is None:
            continue
        if isinstance(nested, dict):
            given.update({prefix + str(key): _listed(values) for key, values in nested.items()})
            continue
        members = _turned(nested) if isinstance(nested, list) else {}
        given.update({prefix + key: values for key, values in members.items()})
    return {n: values for n, values in given.items() if n not in _OWN and isinstance(values, list)}, bad


def _turned(rows: Sequence[object]) -> dict[str, object]:
    """Rows as columns; a row that is no mapping has nothing."""
    whole = [row if type(row) is dict or isinstance(row, Mapping) else {} for row in rows]
    names = dict.fromkeys(itertools.chain.from_iterable(whole))
    return {str(name): [row.get(name) for row in whole] for name in names}


def _listed(values: object) -> object:
    """A column as a list; a mapping (rewards by function) as it is."""
    if isinstance(values, Mapping):
        return dict(values)
    if hasattr(values, "tolist") and len(getattr(values, "shape", ())) == 1:
        return values.tolist()
    return list(values) if isinstance(values, (list, tuple)) or hasattr(values, "__iter__") else []


def _split_messages(raw: dict[str, list[object]], name: str, kept: str) -> None:
    """Keep chat messages as they are under a name of their own, and their text under the column's name."""
    values = raw.get(name, [])
    if any(isinstance(value, (list, tuple)) for value in values):
        raw[kept] = [value if isinstance(value, (list, tuple)) else None for value in values]
        raw[name] = [_flat(value) if isinstance(value, (list, tuple)) else value for value in values]


def _flat(messages: Sequence[object]) -> str:
    lines = []
    for message in messages:
        if isinstance(message, Mapping):
            content = message.get("content")
            lines.append(content if isinstance(content, str) else "" if content is None else str(content))
        else:
            lines.append(str(message))
    return "\n".join(lines)


def _digests(values: Sequence[object]) -> list[object]:
    known: dict[str, str] = {}
    out: list[object] = []
    for value in values:
        if not isinstance(value, str):
            out.append(None)
            continue
        if value not in known:
            known[value] = digest(value)
        out.append(known[value])
    return out


def capture_text_of(given: object) -> CaptureText:
    """What the caller chose, or else the environment.

    Raises:
        RecorderError: that is no choice.
    """
    if given is None:
        said = os.environ.get(CAPTURE_TEXT, "").strip()
        if said in _NAMED:
            return _NAMED[said]
        raise RecorderError(
            f"{CAPTURE_TEXT}: expected yes, hash or no, got {said[:80]!r}. Set one of them, or nothing."
        )
    for choice in _CHOICES:
        if choice == given:
            return choice
    raise RecorderError(f'capture_text: expected True, "hash" or False, got {given!r}. Choose one.')


def without_text(columns: dict[str, list[object]], capture: CaptureText) -> dict[str, list[object]]:
    """The columns as the capture_text option allows them on disk."""
    if capture is True:
        return columns
    hashed = capture == "hash"
    kept = {name: values for name, values in columns.items() if not tells_text(name, values)}
    texts = {
        name: values for name, values in columns.items() if name not in kept and not any(map(holds_integers, values))
    }
    return {
        **{name: list(ids_without_text(name, values)) for name, values in kept.items()},
        **({name: _digests(values) for name, values in texts.items()} if hashed else {}),
    }


def sample_frame(sequence: int, step: int, time: float, columns: Mapping[str, list[object]]) -> bytes:
    """The frame of sample rows."""
    rows = max(map(len, columns.values()), default=0)
    try:
        return frame(_encode((SAMPLE_ROWS, sequence, step, time, rows, columns)))
    except UnicodeEncodeError:  # half a surrogate pair in one text costs that character, not the rows of the step
        whole = {_whole(name): [_whole(value) for value in values] for name, values in columns.items()}
        return frame(_encode((SAMPLE_ROWS, sequence, step, time, rows, whole)))


def _whole(value: object) -> object:
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value
