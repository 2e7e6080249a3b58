"""What transformers' trainers print (TRL, unsloth, open-r1, ms-swift): a dict a logged row, among progress bars.

transformers 4 prints floats, transformers 5 texts of four significant digits; a row has no step. The progress bar is
drawn anew right after a row and shows its step. Where no bar stands beside the rows (bars off, or standard output
buffered apart from them) rows are counted, each worth `logging_steps` steps.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final

from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.bars import RowSteps, bar_in
from rlprobe.importers.rows.configuration import settings_of
from rlprobe.importers.rows.console import ConsoleRows, cleaned_head, is_text
from rlprobe.importers.rows.decode import Row
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.pairs import dict_at
from rlprobe.importers.rows.plan import knows_metric
from rlprobe.recording.run import Feed

NAME = "trl-console"
EXPECTS = "the console of a transformers or TRL trainer: a line {'loss': ..., 'reward': ..., 'epoch': ...} a logged row"
CLUES = (b"{'loss'", b"'learning_rate'", b"'epoch'", b"'reward'", b"trl", b"it/s]", b"s/it]")

_ROW_KEYS: Final = frozenset({"epoch", "train_runtime", "global_step/max_steps"})  # transformers adds one to every row
_KNOWN: Final = 2  # metrics that make another printed dict a row
_MAX_TRIED: Final = 200  # dicts of a head that are looked at
_MAX_DICT: Final = 1 << 16  # characters of one of them
_OPENED = re.compile(r"\{ ?['\"]")
_CUT = re.compile(r"\{ ?'(?:loss|reward|eval_loss|train_runtime)':")
_FULL_WIDTH = str.maketrans({"\uff1a": ":", "\uff0c": ",", "\uff0f": "/", "\uff5b": "{", "\uff5d": "}", "\u2019": "'"})
_LOGGING_STEPS = re.compile(r"\blogging_steps['\"]?\s*[=:]\s*(\d{1,6})\b")


def sniff(path: Path, head: bytes) -> bool:
    """Whether a line of the head is a row as transformers prints it."""
    if not is_text(head) or b"{" not in head:
        return False
    text = cleaned_head(head).decode("utf-8", "replace").translate(_FULL_WIDTH)
    tried = islice(_OPENED.finditer(text), _MAX_TRIED)
    found = (dict_at(text[match.start() : match.start() + _MAX_DICT], 0) for match in tried)
    return any(each is not None and _is_row(tuple(each[0])) for each in found)


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of a console log's rows; it goes on where it stopped as the file grows."""
    aside = Aside()
    return RowFeed(str(path), NAME, ConsoleRows(path, ConsoleLines(aside), aside), keys, run, aside)


class ConsoleLines:
    """The rows and bars among the lines."""

    marks: tuple[bytes, ...] = (b"{", b"%|", b"logging_steps", "\uff5b".encode())

    def __init__(self, aside: Aside) -> None:
        self._aside = aside
        self._steps = RowSteps()
        self._newest: Row = {}
        self._copies = 0
        self._bad = 0
        self._waiting = False  # the unfinished last line begins a row
        self.settings: dict[str, object] = {}

    @property
    def unreadable(self) -> int:
        """Rows whose dict is cut, and one whose line has no end yet."""
        return self._bad + self._waiting

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether steps were counted, and how many rows other processes printed again."""
        twice = "rows were printed twice in succession; the copy counts as another process's and is left out."
        copies = (f"{self._copies} {twice}",)
        return self._steps.notes + (copies if self._copies else ())

    def rows(self, text: str, size: int) -> list[Row] | None:
        """The rows that a line completes: the one before, whose step its bar tells, and its own."""
        if not text.isascii():
            text = text.translate(_FULL_WIDTH)
        start = text.find("{")
        if start >= 0 and (opened := _OPENED.search(text, start)) is not None:
            return self._row(text, opened.start())
        if (bar := bar_in(text)) is not None:
            if "max_steps" not in self.settings and self._steps.pending:
                self.settings["max_steps"] = bar.total
            return self._steps.bar(bar)
        if (match := _LOGGING_STEPS.search(text)) is not None:
            self._steps.interval = int(match.group(1)) or 1
            self.settings["logging_steps"] = self._steps.interval
        return None

    def last(self, tail: str) -> tuple[list[Row], bool]:
        """The row that waits for its bar, which may stand in the unfinished line; a whole row in that line."""
        made, used = [], False
        opened = _OPENED.search(tail) if tail.endswith("}") else None
        if opened is not None and dict_at(tail, opened.start()) is not None:
            made, used = self.rows(tail, len(tail)) or [], True
        elif (bar := bar_in(tail)) is not None and self._steps.pending:
            made = self._steps.bar(bar)
        self._waiting = not used and _CUT.search(tail) is not None
        made = [*made, *self._steps.flush()]
        self._aside.counted = self._steps.counted > 0
        return made, used

    def _row(self, text: str, opened: int) -> list[Row] | None:
        found = dict_at(text, opened)
        if found is None:
            cut = _CUT.match(text, opened) is not None
            self._bad += cut
            return [] if cut else None
        row, end = found
        if not _is_row(tuple(row)):
            return None
        if "epoch" in row and row == self._newest and self._steps.bunched:
            self._copies += 1
            return []
        self._newest = row
        made = self._steps.row(row, bar_in(text[:opened]))
        self._aside.counted = self._steps.counted > 0
        bar = bar_in(text[end:])
        return made if bar is None else [*made, *self._steps.bar(bar)]


@lru_cache(maxsize=512)
def _is_row(keys: tuple[str, ...]) -> bool:
    """Whether a dict with these keys is a row of metrics: not a configuration, nor anything else that is printed."""
    if not _ROW_KEYS.isdisjoint(keys):
        return True
    return sum(knows_metric(key) and not settings_of({key: 0}) for key in keys) >= _KNOWN
