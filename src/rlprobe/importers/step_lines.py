"""What a loop of one's own prints: a line a step, `Step 3/500 | loss: 0.1 | reward=0.4 (std=0.2)`.

A line is a row when it counts a step and a metric of reinforcement learning stands behind. A count that begins again
with the next epoch goes on here.
"""

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rlprobe.importers import importers
from rlprobe.importers.keymaps import maps
from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.console import ConsoleRows, cleaned_head, is_text
from rlprobe.importers.rows.decode import Row
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.lines import head_of
from rlprobe.recording.run import Feed

NAME = "step-lines"
EXPECTS = "the console of a loop of one's own: lines of a step, then its metrics: Step 3/500 | loss: 0.1 | reward: 0.4"
GENERIC = True
CLUES = (b"reward", b"Reward")

_COUNT = r"[\[(]?\s*(?P<{0}>\d{{1,15}})(?!\d|\.\d)(?:\s*/\s*\d{{1,15}})?\s*[\])]?"
_STEP = re.compile(
    r"(?<![A-Za-z@])(?:steps?|iter(?:ation)?s?|updates?|rollouts?|episodes?|batch(?:es)?)\s*[:=#]?\s*"
    + _COUNT.format("step"),
    re.IGNORECASE,
)
_EPOCH = re.compile(r"(?<![A-Za-z])epochs?\s*[:=#]?\s*" + _COUNT.format("epoch"), re.IGNORECASE)
_IN_EPOCH = re.compile(r"[\s,|-]*[\[(]\s*(?P<step>\d{1,15})\s*/\s*\d{1,15}\s*[\])]")  # Epoch [1/3] (20/500)
_EVALUATION = re.compile(r"(?<![A-Za-z])(?:eval|valid|val|test)(?:uation|idation|ing)?(?![A-Za-z])", re.IGNORECASE)
_WORDLESS = re.compile(r"[^A-Za-z]+")
_NUMBER = r"[-+]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][-+]?\d{1,4})?|[-+]?(?:nan|inf(?:inity)?)"
_PAIR = re.compile(
    r"(?P<name>[A-Za-z_][\w./@-]{0,80}(?: [A-Za-z_(][\w./@)-]{0,40}){0,3}?)\s{0,8}[:=]\s{0,8}"
    rf"(?P<value>{_NUMBER})(?P<unit>\s?%|s|ms|GB|GiB|MB|M|k)?(?![\w.:/])",
    re.IGNORECASE,
)
_OF: Final = frozenset({"std", "min", "max", "mean"})  # `reward=0.4 (std=0.2)` tells reward_std
_TELLING: Final = ("reward_mean", "reward_with_kl_mean", "kl_mean", "entropy_mean", "accuracy_fraction", "policy_loss")
_WORDS: Final = (b"eward", b"EWARD", b"kl", b"KL", b"ntropy", b"ccuracy")
_BEHIND: Final = 1 << 23  # bytes in which a trainer's rows are looked for: reward functions print lines, too
_MARKS: Final = (b"tep", b"TEP", b"poch", b"POCH", b"ter", b"TER", b"pdate", b"ollout", b"pisode", b"atch")
_BOUND: Final = 1 << 14  # bytes of a line; a longer one is no row
_LEAST: Final = 2  # metrics of a row


def sniff(path: Path, head: bytes) -> bool:
    """Whether a line of the head counts a step and tells a metric, and no trainer's own rows come behind it."""
    if not is_text(head) or not any(word in head for word in _WORDS):
        return False
    lines = (line for line in cleaned_head(head).split(b"\n") if len(line) < _BOUND)
    if not any(_telling(_known(row.metrics, {})) for line in lines if (row := _line(line.decode("utf-8", "replace")))):
        return False
    longer = head_of(path, _BEHIND)
    others = (
        each for each in importers() if not getattr(each, "GENERIC", False) and not getattr(each, "BINARY", False)
    )
    return not any(each.sniff(path, longer) for each in others)


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of a console log's steps; it goes on where it stopped as the file grows."""
    aside = Aside()
    return RowFeed(str(path), NAME, ConsoleRows(path, StepLines(keys or {}), aside), keys, run, aside)


class StepLines:
    """Rows among the lines that a loop of one's own prints."""

    marks: tuple[bytes, ...] = _MARKS

    def __init__(self, keys: Mapping[str, str]) -> None:
        self._keys = keys
        self._epoch = self._last = self._before = 0
        self._beginning = ""  # what stands before the count in the newest row's line
        self._names: frozenset[str] = frozenset()  # metrics that the newest step has told
        self.unreadable = 0
        self.settings: Mapping[str, object] = {}
        self.notes: tuple[str, ...] = ()

    def rows(self, text: str, size: int) -> list[Row] | None:
        """The row of a line that tells a step."""
        line = _line(text) if size < _BOUND else None
        if line is None:
            return None
        names = _known(line.metrics, self._keys)
        if not (_telling(names) or not names.isdisjoint(self._keys.values()) or any(map(_scored, names))):
            return None
        if names & self._names and line.step <= self._last and line.beginning != self._beginning:
            return []  # says again what a step told: `Best at step 20: reward=0.9`, `saved step 20, reward=0.7`
        same = line.step == self._last and line.epoch == self._epoch
        self._names = names | self._names if same else names
        self._beginning = line.beginning
        if line.epoch > self._epoch > 0 and line.step <= self._last:
            self._before += self._last
        elif line.step < self._last and line.epoch <= self._epoch:
            self._before = 0  # another run in the same file
        self._epoch, self._last = line.epoch, line.step
        epoch = {"epoch": line.epoch} if line.epoch else {}
        return [{**line.metrics, **epoch, "step": line.step + self._before}]

    def last(self, tail: str) -> tuple[list[Row], bool]:
        """Nothing: the number at the end of an unfinished line may be cut."""
        self.unreadable = int(_line(tail) is not None)
        return [], False


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that counts a step: 0 stands for an epoch that is not told."""

    step: int
    epoch: int
    beginning: str
    metrics: Row


def _line(text: str) -> _Line | None:
    """What a line says of a step; None when it counts nothing or tells too few metrics."""
    epoch = _EPOCH.search(text)
    step = _STEP.search(text) or (epoch and _IN_EPOCH.match(text, epoch.end()))
    if not step:
        return None
    metrics: Row = {}
    behind = text[step.end() :]
    for name, value in _pairs(behind):
        metrics.setdefault(name, value)
    if len(metrics) < _LEAST:
        return None
    before = text[: step.start()]
    if _EVALUATION.search(before) or _EVALUATION.match(behind.lstrip(" :|,-])")):
        metrics = {name if _EVALUATION.match(name) else f"eval_{name}": value for name, value in metrics.items()}
    return _Line(int(step.group("step")), int(epoch.group("epoch")) if epoch else 0, _WORDLESS.sub("", before), metrics)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Names and numbers of a line; what stands in brackets behind a number belongs to its name."""
    before = ""
    for match in _PAIR.finditer(text):
        name, value = match.group("name"), match.group("value")
        inside = text[: match.start()].rstrip().endswith(("(", "(±"))
        if inside and before and name.lower() in _OF:
            name = f"{before}_{name.lower()}"
        elif not inside:
            before = name
        yield name, value + "%" if (match.group("unit") or "").strip() == "%" else value


def _known(metrics: Row, keys: Mapping[str, str]) -> frozenset[str]:
    """Canonical metrics of a line's names."""
    found = {keys[name] for name in metrics if name in keys}
    for name in metrics:
        of_maps = (each.find(name, frozenset()) for each in maps())
        found.update(match[0].metric.replace("{name}", match[2]) for match in of_maps if match is not None)
    return frozenset(found)


def _telling(names: AbstractSet[str]) -> bool:
    """Whether one of the metrics is one that only reinforcement learning has."""
    return any(name in _TELLING or name.startswith("reward_") for name in names)


def _scored(name: str) -> bool:
    return name.startswith("evaluation_score/")
