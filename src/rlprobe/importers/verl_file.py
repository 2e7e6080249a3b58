"""verl's file logger: `{"step": N, "data": {...}}` a line. It writes NaN and infinities as null."""

from collections.abc import Mapping
from pathlib import Path

from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.json_rows import JsonRows, first_object
from rlprobe.importers.verl_rollouts import samples_beside
from rlprobe.recording.run import Feed

NAME = "verl-file"
EXPECTS = 'the file of verl\'s file logger: lines of {"step": N, "data": {...}}'
CLUES = (b'"data"', b'"actor/', b'"critic/')


def sniff(path: Path, head: bytes) -> bool:
    """Whether the first line holds a step and a row of data, and nothing else."""
    first = first_object(head)
    return set(first) == {"step", "data"} and isinstance(first["data"], dict)


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of a file's rows; it goes on where it stopped as the file grows."""
    return RowFeed(str(path), NAME, JsonRows(path), keys, run, Aside(samples=samples_beside(path)))
