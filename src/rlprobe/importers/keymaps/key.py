"""How one framework's keys become canonical metrics: the row of a key map, and the map itself."""

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """How a number was estimated: the fields of the same names of `recording.run.Metadata`; "" is the registry's word."""

    estimator: str = ""
    pair: str = ""
    per: str = ""
    unit: str = ""


PLAIN = Measure()


@dataclass(frozen=True, slots=True)
class Key:
    """One foreign key and the canonical metric that it is.

    Attributes:
        key: the foreign key, normalised (no blanks round a slash). `{name}` stands for any text and may stand in `metric`.
        metric: the canonical metric; "" keeps the number under its foreign key (and says in `note` why).
        measure: how it was estimated.
        note: a trap that a reader of the number should know.
        scale, offset: canonical = foreign * scale + offset.
        when: the row of the map holds only once this foreign key was seen in the log ("" always).
        unless: the row holds only as long as none of these foreign keys was seen.
        rollout: logged again with every update on one rollout, so that an exact repeat is no new measurement.
    """

    key: str
    metric: str
    measure: Measure = PLAIN
    note: str = ""
    scale: float = 1.0
    offset: float = 0.0
    when: str = ""
    unless: tuple[str, ...] = ()
    rollout: bool = False


@dataclass(frozen=True)
class KeyMap:
    """The keys of one framework, best spelling first: where two keys of a row name one metric, the earlier row wins.

    Attributes:
        framework: its name in `Manifest.framework`.
        marks: keys that only this framework writes; "a/" marks every key below it, "*a" every key that ends so.
        keys: the map.
        algorithms: (foreign key, algorithm): the first key seen in the log decides; "" as key is the default.
        prefixes: prefixes under which a logger files the same keys ("train/" in TensorBoard).
        loose: whether "Mean Reward" counts as "mean_reward", and both as "reward".
    """

    framework: str
    marks: tuple[str, ...]
    keys: tuple[Key, ...]
    algorithms: tuple[tuple[str, str], ...] = ()
    prefixes: tuple[str, ...] = ()
    loose: bool = False

    @cached_property
    def conditions(self) -> frozenset[str]:
        """Foreign keys on whose appearance the meaning of others depends."""
        return frozenset(name for key in self.keys for name in (key.when, *key.unless) if name)

    @cached_property
    def _exact(self) -> dict[str, list[int]]:
        out: dict[str, list[int]] = {}
        for rank, key in enumerate(self.keys):
            if "{" not in key.key:
                out.setdefault(key.key, []).append(rank)
        return out

    @cached_property
    def _families(self) -> list[tuple[re.Pattern[str], int]]:
        return [(pattern_of(key.key), rank) for rank, key in enumerate(self.keys) if "{" in key.key]

    def claims(self, key: str) -> bool:
        """Whether this key is one that only this framework writes."""
        return any(_marked(key, mark) for mark in self.marks)

    def find(self, key: str, seen: AbstractSet[str]) -> tuple[Key, int, str] | None:
        """The map's row for a key, its rank, and what `{name}` stood for; None when the map does not know the key."""
        for spelling in self.spellings(key):
            for rank in self._exact.get(spelling, ()):
                if self._holds(rank, seen):
                    return self.keys[rank], rank, ""
            for pattern, rank in self._families:
                match = pattern.fullmatch(spelling)
                if match is not None and self._holds(rank, seen):
                    return self.keys[rank], rank, match.group("name")
        return None

    def spellings(self, key: str) -> list[str]:
        """The key, the key without a logger's prefix; with `loose` the same in small letters joined by "_", then without
        the words that say no more than that it is an average."""
        found = [key, *(key.removeprefix(prefix) for prefix in self.prefixes if key.startswith(prefix))]
        if self.loose:
            found += [_JOINS.sub("_", each.lower()) for each in found]
            found += [bare for each in found if (bare := _bare(each)) not in ("", each)]
        return found

    def _holds(self, rank: int, seen: AbstractSet[str]) -> bool:
        key = self.keys[rank]
        return (not key.when or key.when in seen) and not any(name in seen for name in key.unless)


def _marked(key: str, mark: str) -> bool:
    if mark.startswith("*"):
        return key.endswith(mark[1:])
    return key.startswith(mark) if mark.endswith("/") else key == mark


def pattern_of(key: str) -> re.Pattern[str]:
    """The regular expression of a key with `{name}` in it."""
    before, after = key.split("{name}")
    return re.compile(re.escape(before) + r"(?P<name>.+)" + re.escape(after))


_JOINS = re.compile(r"[\s-]+")
_PARTS = re.compile(r"[_/]")
_AVERAGES = frozenset({"mean", "avg", "average", "batch"})


def _bare(key: str) -> str:
    """The key without words for an average, joined by "_"; the key itself where it has none."""
    parts = _PARTS.split(key)
    kept = [part for part in parts if part not in _AVERAGES]
    return key if len(kept) == len(parts) else "_".join(kept)


_BLANKS = re.compile(r"\s*/\s*")


def normalised(key: str) -> str:
    """The key as key maps spell it: no blanks at the ends or round slashes (notebook tables put them there)."""
    return _BLANKS.sub("/", key.strip()) if " " in key or "\t" in key else key
