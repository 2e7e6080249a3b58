"""What transformers' trainers print (TRL, unsloth, open-r1, ms-swift): a dict a logged row, among progress bars.

transformers 4 prints floats, transformers 5 texts of four significant digits; a row has no step. The progress bar is
drawn anew right after a row and shows its step. Where no bar stands beside the rows (bars off, or standard output
buffered apart from them) rows are counted, each worth `logging_steps` steps.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.bars import RowSteps, bar_in
from rlprobe.importers.rows.console import ConsoleRows, cleaned_head, is_text
from rlprobe.importers.rows.decode import Row
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.pairs import dict_at
from rlprobe.recording.run import Feed

NAME = "trl-console"
EXPECTS = "the console of a transformers or TRL trainer: a line {'loss': ..., 'reward': ..., 'epoch': ...} a logged row"
CLUES = (b"{'loss'", b"'learning_rate'", b"'epoch'", b"'reward'", b"trl", b"it/s]", b"s/it]")

_ROW_KEYS = frozenset({"epoch", "loss", "train_runtime", "eval_loss", "reward", "global_step/max_steps"})
_ROW = re.compile(
    rb"\{ ?'[\w/ .()@:-]{1,120}'[:\xef][^{}\n]{0,20000}?'(?:epoch|global_step/max_steps)'[:\xef]"
    rb"|\{ ?'(?:loss|reward)'[:\xef][^{}\n]{0,20000}?'(?:reward|grad_norm|learning_rate|kl)'[:\xef]"
)
_FULL_WIDTH = str.maketrans({"\uff1a": ":", "\uff0c": ",", "\uff0f": "/", "\uff5b": "{", "\uff5d": "}", "\u2019": "'"})
_LOGGING_STEPS = re.compile(r"\blogging_steps['\"]?\s*[=:]\s*(\d{1,6})\b")


def sniff(path: Path, head: bytes) -> bool:
    """Whether a line of the head is a row as transformers prints it."""
    return is_text(head) and _ROW.search(cleaned_head(head)) is not None


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of a console log's rows; it goes on where it stopped as the file grows."""
    aside = Aside()
    return RowFeed(str(path), NAME, ConsoleRows(path, ConsoleLines(), aside), keys, run, aside)


class ConsoleLines:
    """The rows and bars among the lines."""

    def __init__(self) -> None:
        self._steps = RowSteps()
        self.unreadable = 0
        self.settings: dict[str, object] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether steps were counted."""
        return self._steps.notes

    def rows(self, text: str, size: int) -> list[Row] | None:
        """The rows that a line completes: the one before, whose step its bar tells, and its own."""
        if not text.isascii():
            text = text.translate(_FULL_WIDTH)
        start = text.find("{")
        if start >= 0 and (opened := _quoted(text, start)) >= 0:
            return self._row(text, opened)
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
        if tail.endswith("}") and (opened := _quoted(tail, 0)) >= 0 and dict_at(tail, opened) is not None:
            made, used = self.rows(tail, len(tail)) or [], True
        elif (bar := bar_in(tail)) is not None and self._steps.pending:
            made = self._steps.bar(bar)
        return [*made, *self._steps.flush()], used

    def _row(self, text: str, opened: int) -> list[Row] | None:
        found = dict_at(text, opened)
        if found is None:
            cut = _ROW.search(text.encode()) is not None
            self.unreadable += cut
            return [] if cut else None
        row, end = found
        if _ROW_KEYS.isdisjoint(row):
            return None
        made = self._steps.row(row, bar_in(text[:opened]))
        bar = bar_in(text[end:])
        return made if bar is None else [*made, *self._steps.bar(bar)]


def _quoted(text: str, start: int) -> int:
    """Where a dict of quoted keys opens, -1 for nowhere."""
    places = [at for at in (text.find("{'", start), text.find('{"', start), text.find("{ '", start)) if at >= 0]
    return min(places, default=-1)
