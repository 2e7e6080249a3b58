"""One line of JSON as one flat row of foreign keys."""

import json
import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec

Row = dict[str, object]

_MAX_DEPTH: Final = 6  # nested objects; deeper ones are left out
_MAX_KEYS: Final = 4096  # keys of one row; further ones are left out
_WRAPPERS = frozenset(
    {"data", "metrics", "log", "logs", "values", "scalars"}
)  # hold a row's numbers, mean nothing themselves
_BARE = re.compile(rb"(?<=[:\[,])\s*(-?)(nan|inf|infinity)(?=\s*[,\]}])", re.IGNORECASE)
_SPELLED = {b"nan": b"NaN", b"inf": b"Infinity", b"infinity": b"Infinity"}


def decode(line: bytes) -> object | None:
    """The JSON value of a line, with NaN and Infinity however they are spelled; None when there is none.

    The fast decoder refuses NaN and Infinity, which JSON does not know but every Python logger writes.
    """
    try:
        fast: object = msgspec.json.decode(line)
        return fast
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        pass
    for text in (line, _BARE.sub(_respelled, line)):
        try:
            value: object = json.loads(text)
            return value
        except (ValueError, RecursionError):
            continue
    return None


def _respelled(match: re.Match[bytes]) -> bytes:
    word = _SPELLED[match.group(2).lower()]
    return (b"-" if match.group(1) and word != b"NaN" else b"") + word


def row_of(value: object, wrappers: AbstractSet[str] = _WRAPPERS) -> Row | None:
    """A flat row of a decoded object, nested keys joined by a slash; None when the value is no object.

    Args:
        wrappers: names of outermost objects that are left out of the keys.
    """
    if not isinstance(value, dict):
        return None
    if dict not in map(type, value.values()) and len(value) <= _MAX_KEYS:
        return value
    flat: Row = {}
    for key, inner in _walk(value, "", 0, wrappers):
        if len(flat) >= _MAX_KEYS:
            break
        flat[key] = inner
    return flat


def _walk(
    value: Mapping[str, object], prefix: str, depth: int, wrappers: AbstractSet[str]
) -> Iterator[tuple[str, object]]:
    for key, inner in value.items():
        if not isinstance(inner, dict):
            yield prefix + str(key), inner
        elif depth < _MAX_DEPTH:
            below = prefix if depth == 0 and key in wrappers else f"{prefix}{key}/"
            yield from _walk(inner, below, depth + 1, wrappers)
