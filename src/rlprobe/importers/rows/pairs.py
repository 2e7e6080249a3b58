"""A printed Python dict as one flat row, scanned and never evaluated.

`ast.literal_eval` refuses what trainers print: `nan`, `np.float64(0.5)`, `tensor(0.5, device='cuda:0')`. Values stay
text or become what JSON would give; nested dicts are joined by a slash, other containers are passed over.
"""

import re
from typing import Final

from rlprobe.importers.rows.decode import Row

_MAX_KEYS: Final = 4096  # of one row
_MAX_DEPTH: Final = 6  # nested dicts
_WORDS: Final = {"None": None, "True": True, "False": False}
_KEY = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*:\s*""")
_SCALAR = re.compile(
    r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([-+\w.%]+(?:\((?:[^()'"]|'[^']*'|"[^"]*"|\([^()]*\))*\))?)"""
)
_NEXT = re.compile(r"\s*([,}])")
_CLOSED = re.compile(r"\s*}")
_CONTAINER = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[\[({]|[\])}]""")
_WHOLE = re.compile(r"[-+]?\d{1,18}")


def dict_at(text: str, start: int) -> tuple[Row, int] | None:
    """The dict whose brace stands at `start`, and where it ends; None when it is cut or is no dict of texts."""
    row: Row = {}
    end = _scan(text, start, "", 0, row)
    return None if end < 0 or not row else (row, end)


def _scan(text: str, start: int, prefix: str, depth: int, row: Row) -> int:
    """Fill the row from the dict at `start`; where the dict ends, -1 when it does not."""
    at = start + 1
    if (closed := _CLOSED.match(text, at)) is not None:
        return closed.end()
    while (key := _KEY.match(text, at)) is not None and len(row) < _MAX_KEYS:
        name = prefix + (key.group(1) if key.group(1) is not None else key.group(2))
        at = key.end()
        if text[at : at + 1] == "{" and depth < _MAX_DEPTH:
            at = _scan(text, at, name + "/", depth + 1, row)
        elif text[at : at + 1] in ("{", "[", "("):
            at = _end_of_container(text, at)
        elif (scalar := _SCALAR.match(text, at)) is not None:
            row[name] = _value(scalar)
            at = scalar.end()
        else:
            return -1
        following = _NEXT.match(text, at) if at >= 0 else None
        if following is None:
            return -1
        if following.group(1) == "}":
            return following.end()
        at = following.end()
    return -1


def _end_of_container(text: str, start: int) -> int:
    depth = 0
    for match in _CONTAINER.finditer(text, start):
        if match.group()[0] in "[({":
            depth += 1
        elif match.group()[0] in "])}":
            depth -= 1
            if depth == 0:
                return match.end()
    return -1


def _value(match: re.Match[str]) -> object:
    word = match.group(3)
    if word is None:
        return match.group(1) if match.group(1) is not None else match.group(2)
    if word in _WORDS:
        return _WORDS[word]
    return int(word) if _WHOLE.fullmatch(word) else word
