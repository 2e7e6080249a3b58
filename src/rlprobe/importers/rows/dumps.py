"""Configurations that a trainer prints before it starts, read without evaluating anything.

Known are a printed dict over one or many lines (verl), the repr of a configuration class on one line (OpenRLHF's
`Namespace(`) or with a setting a line (TRL's `GRPOConfig(`), and a list of `name ...... value` (Megatron, slime).
"""

import ast
import re
from typing import Final

from rlprobe.importers.rows.configuration import kept, settings_of
from rlprobe.importers.rows.decode import row_of
from rlprobe.importers.rows.source_code import configuration_in

_MAX_TEXT: Final = 1 << 18  # characters of one printed configuration
_MAX_DEPTH: Final = 40  # nested brackets; the parser of literals recurses
_MIN_SETTINGS: Final = 2  # known settings that tell a configuration from another dict

DUMP_MARKS: Final = (b"{'", b"Config(", b"Arguments(", b"Args(", b"Namespace(", b" ...")  # one begins with one of these

_OPENED = re.compile(r"\w*(?:Config|Arguments|Args|Namespace)\($")
_CALL = re.compile(r"\b\w*(?:Config|Arguments|Args|Namespace)\(\w+=.*\)")
_SETTING = re.compile(r"\s*(\w+)=(.*?),?$")
_DOTTED = re.compile(r"\s*(\w+) \.{3,} (.*)$")


class DumpReader:
    """Gathers the lines of a printed configuration. Lines of other processes in between are passed over."""

    def __init__(self) -> None:
        self._prefix = ""
        self._lines: list[str] = []
        self._size = 0
        self._depth = 0
        self._kind = ""
        self._settings: dict[str, object] = {}

    @property
    def open(self) -> bool:
        """Whether a configuration has begun and not ended."""
        return bool(self._kind)

    def watch(self, prefix: str, text: str) -> dict[str, object] | None:
        """The configuration that this line completes, flat and without secrets; None when it completes none."""
        if self._kind and prefix != self._prefix:
            return None
        if not self._kind and not self._begin(prefix, text):
            return _on_one_line(text)
        self._size += len(text)
        if self._size > _MAX_TEXT:
            self._kind = ""
            return None
        return self._literal(text) if self._kind == "literal" else self._repr(text)

    def _begin(self, prefix: str, text: str) -> bool:
        if text.startswith("{'"):
            self._kind = "literal"
        elif _OPENED.search(text):
            self._kind = "repr"
        else:
            return False
        self._prefix, self._lines, self._size, self._depth, self._settings = prefix, [], 0, 0, {}
        return True

    def _literal(self, text: str) -> dict[str, object] | None:
        self._lines.append(text)
        self._depth += text.count("{") - text.count("}")
        if self._depth > 0:
            return None
        self._kind = ""
        value = literal(" ".join(self._lines))
        row = row_of(value, frozenset())
        found = kept(row) if row is not None else {}
        return found if len(settings_of(found)) >= _MIN_SETTINGS else None

    def _repr(self, text: str) -> dict[str, object] | None:
        if text.strip() == ")":
            self._kind = ""
            return kept(self._settings) or None
        if (match := _SETTING.match(text)) is not None:
            self._settings[match.group(1)] = _value(match.group(2))
        return None


def literal(text: str) -> object | None:
    """The value of a Python literal; None for anything else, and for what nests too deep."""
    if len(text) > _MAX_TEXT or _depth(text) > _MAX_DEPTH:
        return None
    try:
        value: object = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    return value


def _depth(text: str) -> int:
    deepest = depth = 0
    for character in re.findall(r"[\[{()}\]]", text):
        depth += 1 if character in "[{(" else -1
        deepest = max(deepest, depth)
    return deepest


def _on_one_line(text: str) -> dict[str, object] | None:
    if (match := _CALL.search(text)) is not None:
        return configuration_in(match.group()) or None
    return _dotted(text) if " ..." in text else None


def _dotted(text: str) -> dict[str, object] | None:
    match = _DOTTED.match(text)
    return None if match is None else kept({match.group(1): _value(match.group(2))}) or None


def _value(text: str) -> object:
    value = literal(text) if len(text) < 256 else None
    return text if value is None and text != "None" else value
