"""What of a recording is text, or can be turned back into it, and what stands in its place where none may be kept."""

import hashlib
from collections.abc import Sequence

from rlprobe.recording.layout import is_text

TOKEN_IDS = "token_ids"  # a tokenizer makes the text of them again
_IDS = frozenset(("prompt_id", "group", "generation"))
_WORDS = frozenset(("stop_reason", "kl_estimator", "capture_reason", "split"))
_LONGEST_ID = 64  # characters; what is longer, or has blanks, may be the prompt itself
_DIGITS = 16


def digest(text: str) -> str:
    """The first hex digits of the SHA-256 of a text: equal texts are recognised, no text is told."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_DIGITS]


def tells_text(name: str, values: object) -> bool:
    """Whether a sample column holds text: one of the format's, or any other with a text that is no id and no word."""
    if is_text(name) or name == TOKEN_IDS:
        return True
    named = name in _IDS or name in _WORDS
    return not named and isinstance(values, list) and any(isinstance(value, str) for value in values)


def ids_without_text(name: str, values: Sequence[object]) -> Sequence[object]:
    """A column of ids with the hash of each that may be a text; any other column as it is."""
    return [short_id(value) for value in values] if name in _IDS and isinstance(values, list) else values


def short_id(value: object) -> object:
    """An id as it is; a text that stands in the place of one as its hash, so that equal ones stay equal."""
    if not isinstance(value, str) or (len(value) <= _LONGEST_ID and not any(map(str.isspace, value))):
        return value
    return digest(value)
