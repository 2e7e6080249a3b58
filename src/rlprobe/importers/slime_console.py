"""What slime prints behind its logger's prefix: `rollout N: {...}`, `perf N: {...}`, `step N: {...}`, `eval N: {...}`.

Every kind of line counts on an axis of its own, and several training steps belong to one rollout. The number of the
rollout is the step; a training step belongs to the rollout before it.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.console import ConsoleRows, cleaned_head, is_text
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.numbered import NumberedDicts
from rlprobe.recording.run import Feed

NAME = "slime-console"
EXPECTS = "slime's console: lines of rollout N: {...}, perf N: {...}, step N: {...} or eval N: {...}"
CLUES = (b"perf ", b"rollout/", b"slime", b"train/pg_loss")

_LINE = re.compile(r"(?:^|[\s\]])(?P<axis>rollout|perf|eval|step|train) (?P<step>\d{1,18}): (?=\{)")
_SNIFF = re.compile(
    rb"(?:^|[\s\]])(?:rollout|perf|eval|step|train) \d{1,18}: \{ ?'(?:rollout|perf|eval|train)/", re.MULTILINE
)


def sniff(path: Path, head: bytes) -> bool:
    """Whether a line of the head is a row as slime prints it."""
    return is_text(head) and _SNIFF.search(cleaned_head(head)) is not None


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of a console log's rows; it goes on where it stopped as the file grows."""
    aside = Aside()
    reader = NumberedDicts(_LINE, inner=frozenset({"step", "train"}), leading=frozenset({"rollout", "perf"}))
    return RowFeed(str(path), NAME, ConsoleRows(path, reader, aside), keys, run, aside)
