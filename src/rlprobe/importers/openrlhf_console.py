"""What OpenRLHF prints: `Global step N: {...}` behind its logger's prefix, a dict's repr with tensors in it."""

import re
from collections.abc import Mapping
from pathlib import Path

from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.console import ConsoleRows, cleaned_head, is_text
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.numbered import NumberedDicts
from rlprobe.recording.run import Feed

NAME = "openrlhf-console"
EXPECTS = "OpenRLHF's console: lines of Global step N: {...}"
CLUES = (b"Global step", b"openrlhf", b"actor_lr")

_LINE = re.compile(r"(?P<axis>Global step) (?P<step>\d{1,18}): (?=\{)")
_SNIFF = re.compile(rb"Global step \d{1,18}: \{ ?'")


def sniff(path: Path, head: bytes) -> bool:
    """Whether a line of the head is a step as OpenRLHF prints it."""
    return is_text(head) and _SNIFF.search(cleaned_head(head)) is not None


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of a console log's steps; it goes on where it stopped as the file grows."""
    aside = Aside()
    return RowFeed(str(path), NAME, ConsoleRows(path, NumberedDicts(_LINE), aside), keys, run, aside)
