"""Answers of bounded size: what is too long is cut, and the answer says so."""

import json
from collections.abc import Mapping

from rlprobe.mcp.root import Refused
from rlprobe.reports.json import document

MOST_CHARACTERS = 60_000  # of one answer: about 15,000 tokens
LEVELS = ((4_000, 200), (1_000, 50), (300, 20), (100, 5))  # characters of a text, entries of a list; tried in order


def fitted(text: str, most: int = MOST_CHARACTERS) -> str:
    """A JSON document as it is, or with its long texts and lists cut so far that it fits.

    A cut text ends with how much is missing; a document that was cut says to what under `cut`.

    Raises:
        Refused: even the shortest form is too long.
    """
    if len(text) <= most:
        return text
    tree = json.loads(text)
    for characters, entries in LEVELS:
        told = {**_cut(tree, characters, entries), "cut": {"texts": characters, "lists": entries}}
        shorter = document(told)
        if len(shorter) <= most:
            return shorter
    raise Refused(f"the answer has {len(text):,} characters, {most:,} are sent. Ask for less.")


def _cut(tree: Mapping[str, object], characters: int, entries: int) -> dict[str, object]:
    return {name: _shorter(value, characters, entries) for name, value in tree.items()}


def _shorter(value: object, characters: int, entries: int) -> object:
    if isinstance(value, str) and len(value) > characters:
        return f"{value[:characters]} ... {len(value) - characters} more characters"
    if isinstance(value, Mapping):
        return _cut(value, characters, entries)
    if isinstance(value, list):
        return [_shorter(each, characters, entries) for each in value[:entries]]
    return value
