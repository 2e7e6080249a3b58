"""EasyR1's `experiment_log.jsonl`: verl's keys, nested (`{"step": 1, "actor": {"entropy_loss": 0.2}}`).

Its configuration lies beside it as `experiment_config.json`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.configuration import stored
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.json_rows import JsonRows, first_object
from rlprobe.recording.run import Feed

NAME = "easyr1"
EXPECTS = "EasyR1's experiment_log.jsonl: lines of a step and nested metrics"
CLUES = (b'"actor": {', b'"reward": {', b'"val": {')

_GROUPS: Final = frozenset({"actor", "critic", "reward", "val", "timing_s", "response_length"})
_CONFIGURATION: Final = "experiment_config.json"


def sniff(path: Path, head: bytes) -> bool:
    """Whether the first line holds a step and at least one of EasyR1's groups as an object."""
    first = first_object(head)
    return "step" in first and any(isinstance(first.get(group), dict) for group in _GROUPS)


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of a file's rows; it goes on where it stopped as the file grows."""
    aside = Aside(configuration=stored(path.parent / _CONFIGURATION))
    return RowFeed(str(path), NAME, JsonRows(path), keys, run, aside)
