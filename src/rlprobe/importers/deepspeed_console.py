"""What DeepSpeed-Chat's third step prints: a line of losses, then a line with the average reward score.

Steps begin again with each epoch; here they go on.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.console import ConsoleRows, cleaned_head, is_text
from rlprobe.importers.rows.decode import Row
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.recording.run import Feed

NAME = "deepspeed-chat-console"
EXPECTS = "DeepSpeed-Chat's console: lines of epoch|step|ppo_ep|act_loss|cri_loss, then the average reward score"
CLUES = (b"act_loss", b"ppo_ep", b"average reward score", b"Average reward score", b"Actor Loss")

_LINE = re.compile(r"epoch: *(?P<epoch>\d{1,9}) *\| *step: *(?P<step>\d{1,9}) *\|(?P<rest>.*)", re.IGNORECASE)
_SNIFF = re.compile(rb"epoch: *\d+ *\| *step: *\d+ *\| *ppo[ _]ep", re.IGNORECASE)
_REWARD = re.compile(r"average reward score: *([-+\w.()]+)", re.IGNORECASE)
_NAMES: Final = {"Actor Loss": "act_loss", "Critic Loss": "cri_loss", "Unsupervised Loss": "unsuper_loss"}
_WORDLESS: Final = frozenset({"ppo_ep", "PPO Epoch"})  # counts of passes, no measurement


def sniff(path: Path, head: bytes) -> bool:
    """Whether a line of the head is a step as DeepSpeed-Chat prints it."""
    return is_text(head) and _SNIFF.search(cleaned_head(head)) is not None


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of a console log's steps; it goes on where it stopped as the file grows."""
    aside = Aside()
    return RowFeed(str(path), NAME, ConsoleRows(path, _Lines(), aside), keys, run, aside)


class _Lines:
    marks: tuple[bytes, ...] = (b"poch:", b"eward score:", b"EPOCH:")

    def __init__(self) -> None:
        self._step: int | None = None
        self._in_epoch = (0, -1)  # the last line's epoch, and its step in that epoch
        self._before = 0  # steps of the epochs before
        self._open: Row | None = None
        self.unreadable = 0
        self.settings: Mapping[str, object] = {}
        self.notes: tuple[str, ...] = ()

    def rows(self, text: str, size: int) -> list[Row] | None:
        """The row that a line completes: losses wait for their reward."""
        if (match := _LINE.search(text)) is not None:
            closed = self._close()
            self._step = self._place(int(match.group("epoch")), int(match.group("step")))
            self._open = {"step": self._step, "epoch": match.group("epoch"), **_pairs(match.group("rest"))}
            return closed
        if (reward := _REWARD.search(text)) is not None:
            score: Row = {"average reward score": reward.group(1)}
            if self._open is None:  # the losses were handed out before this line was there
                return [] if self._step is None else [{"step": self._step, **score}]
            self._open.update(score)
            return self._close()
        return None

    def last(self, tail: str) -> tuple[list[Row], bool]:
        """The losses that wait for a reward."""
        return self._close(), False

    def _close(self) -> list[Row]:
        row, self._open = self._open, None
        return [] if row is None else [row]

    def _place(self, epoch: int, step: int) -> int:
        last_epoch, last_step = self._in_epoch
        if epoch > last_epoch and step <= last_step:
            self._before += last_step + 1
        elif epoch < last_epoch:
            self._before = 0  # another run in the same file
        self._in_epoch = epoch, step
        return self._before + step


def _pairs(text: str) -> Row:
    row: Row = {}
    for part in text.split("|"):
        key, _, value = part.rpartition(":")
        key = key.strip()
        if key and key not in _WORDLESS:
            row[_NAMES.get(key, key)] = value.strip()
    return row
