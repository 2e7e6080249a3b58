"""The small part of YAML that wandb and MLflow write: nested mappings of plain scalars in block style.

Everything else (anchors, flow style beyond empty, block text, lists) is left out, never guessed.
"""

import json
import re
from typing import Final

_MAX_LINES: Final = 20_000
_ENTRY = re.compile(r"""( *)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s'"#&*!|>\[{][^:]*?)\s*:(?:\s+(.*?))?\s*""")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WORDS: Final = {"true": True, "false": False, "null": None, "~": None, ".nan": float("nan"), ".inf": float("inf")}


def flat_yaml(text: str) -> dict[str, object]:
    """Scalars by their path, parts joined by a slash."""
    found: dict[str, object] = {}
    path: list[tuple[int, str]] = []
    for line in text.splitlines()[:_MAX_LINES]:
        match = _ENTRY.fullmatch(line)
        if match is None:
            continue
        indent, key, value = len(match.group(1)), _unquoted(match.group(2)), match.group(3)
        while path and path[-1][0] >= indent:
            path.pop()
        path.append((indent, key))
        if value and value[0] not in "&*!|>[{#":
            found["/".join(part for _, part in path)] = scalar(value)
    return found


def scalar(text: str) -> object:
    """The number, flag, null or text that a plain scalar stands for."""
    if text[:1] and text[0] in "'\"":
        return _unquoted(text)
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _NUMBER.fullmatch(text):
        return int(text) if text.lstrip("+-").isdigit() and len(text) < 20 else float(text)
    return text


def _unquoted(text: str) -> str:
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            return text
    return text[1:-1] if text.startswith("'") and text.endswith("'") and len(text) > 1 else text
