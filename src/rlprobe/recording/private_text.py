"""What of a recording is text, or can be turned back into it, and what stands in its place where none may be kept."""

import hashlib
import re
from collections.abc import Sequence

import msgspec

from rlprobe.recording.layout import INT32, is_text

_IDS = frozenset(("prompt_id", "group", "generation"))
_WORDS = frozenset(("stop_reason", "kl_estimator", "capture_reason", "split"))
_ID = re.compile(r"(?=.*\d)[\w.:/-]{1,64}", re.ASCII)  # what is anything else may be the prompt or the answer itself
_WORD = re.compile(r"[\w.:<|>-]{1,32}", re.ASCII)
_DIGITS = 16


def digest(text: str) -> str:
    """The first hex digits of the SHA-256 of a text: equal texts are recognised, no text is told."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_DIGITS]


def tells_text(name: str, values: object) -> bool:
    """Whether a sample column holds text: one of the format's, or any other with a text that is no id and no word.

    Arrays of integers count as text: a tokenizer makes text of token ids.
    """
    if is_text(name):
        return True
    named = name in _IDS or name in _WORDS
    return not named and isinstance(values, list) and any(isinstance(v, str) or holds_integers(v) for v in values)


def holds_integers(value: object) -> bool:
    """Whether a value of a sample column is an array of integers, as a frame or a reader holds it."""
    if isinstance(value, msgspec.msgpack.Ext):
        return value.code == INT32
    return getattr(getattr(value, "dtype", None), "kind", "f") in "iub" and getattr(value, "shape", ()) != ()


def ids_without_text(name: str, values: Sequence[object]) -> Sequence[object]:
    """A column of ids or words with the hash of each that may be a text; any other column as it is."""
    if not isinstance(values, list) or name not in _IDS | _WORDS:
        return values
    return [_short(value, _ID if name in _IDS else _WORD) for value in values]


def short_id(value: object) -> object:
    """An id as it is; a text that stands in the place of one as its hash, so that equal ones stay equal."""
    return _short(value, _ID)


def _short(value: object, kind: re.Pattern[str]) -> object:
    return digest(value) if isinstance(value, str) and not kind.fullmatch(value) else value
