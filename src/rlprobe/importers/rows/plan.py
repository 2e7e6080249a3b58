"""Which canonical column each foreign key fills, given the keys seen so far.

The framework, and rows of a map that depend on another key, are decided from the keys of the rows up to the present,
so that a prefix of a log reads the same alone as it does inside the whole.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from rlprobe.importers.keymaps import maps
from rlprobe.importers.keymaps.key import Key, normalised
from rlprobe.recording.metrics import find
from rlprobe.recording.run import Metadata

MAX_KEYS: Final = 8192  # distinct keys that can still tell a framework

# beginnings of metrics that only reinforcement learning has; loss, learning rate and lengths other training has too
_LEARNING: Final = ("reward", "true_reward", "advantage", "kl_", "return_", "clip_", "ratio_", "accuracy_", "value_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where one foreign key's numbers go."""

    name: str
    known: bool
    rank: int
    scale: float
    offset: float
    rollout: bool
    metadata: Metadata

    def as_foreign(self) -> "Target":
        """The same numbers under their foreign key: where a better spelling of the metric stands in the same row."""
        plain = Metadata(key=self.metadata.key, note=f"a second spelling of {self.name}")
        return Target(name=self.metadata.key, known=False, rank=0, scale=1.0, offset=0.0, rollout=False, metadata=plain)


def knows_metric(key: str) -> bool:
    """Whether any key map, whatever the framework, knows the key as a metric."""
    key = normalised(key)
    found = (each.find(key, frozenset({key})) for each in maps())
    return find(key) is not None or any(row is not None and row[0].metric for row in found)


class Plan:
    """The keys seen so far, and what each of them means.

    Args:
        user_keys: foreign key -> canonical metric, of the user.
        framework: whose keys they are, where the format says so; otherwise the keys tell.
    """

    def __init__(self, user_keys: Mapping[str, str] | None = None, framework: str = "") -> None:
        self._user = {normalised(theirs): ours for theirs, ours in (user_keys or {}).items()}
        self._maps = maps()
        self._generic = self._maps[-1]
        self._votes = dict.fromkeys((each.framework for each in self._maps), 0)
        self._votes[framework] += framework != ""
        self._map = next(each for each in self._maps if each.framework == framework)
        self._targets: dict[str, Target] = {}
        self.seen: set[str] = set()
        self.version = 0
        self._learns = False

    @property
    def framework(self) -> str:
        """The framework whose keys the log has, "" when its keys are nobody's in particular."""
        return self._map.framework

    @property
    def algorithm(self) -> str:
        """The algorithm that the keys speak of; "" before any of them tells of reinforcement learning at all."""
        generic = self._generic.algorithms if self._learns else ()
        for key, algorithm in (*self._map.algorithms, *generic):
            if key in self.seen or (not key and (self._learns or self._map.framework)):
                return algorithm
        return ""

    def see(self, keys: Iterable[str]) -> None:
        """Take note of a row's keys; `version` changes when that changes what any key means."""
        new = {normalised(key) for key in keys} - self.seen
        if not new or len(self.seen) >= MAX_KEYS:
            return
        self.seen |= new
        for each in self._maps:
            self._votes[each.framework] += sum(any(map(each.claims, each.spellings(key))) for key in new)
        best = max(self._maps, key=lambda each: self._votes[each.framework])
        chosen = best if self._votes[best.framework] else self._generic
        if chosen is not self._map or new & (chosen.conditions | self._generic.conditions):
            self._map = chosen
            self._targets.clear()
            self.version += 1

    def target(self, key: str) -> Target:
        """Where the numbers of a foreign key go."""
        key = normalised(key)
        target = self._targets.get(key)
        if target is None:
            target = self._resolve(key)
            self._learns = self._learns or (target.known and target.name.startswith(_LEARNING))
            if len(self._targets) < MAX_KEYS:
                self._targets[key] = target
        return target

    def _resolve(self, key: str) -> Target:
        if key in self._user:
            return _target(Key(key, self._user[key]), "", -2, key)
        if (metric := find(key)) is not None and (not metric.family or len(key) > len(metric.name)):
            return _target(Key(key, key), "", -1, key)
        for base, each in ((0, self._map), (1_000, self._generic)):
            if (found := each.find(key, self.seen)) is not None:
                row, rank, name = found
                return _target(row, name, base + rank, key)
        return _target(Key(key, ""), "", 0, key)


def _target(row: Key, name: str, rank: int, key: str) -> Target:
    metric = row.metric.replace("{name}", name)
    entry = find(metric) if metric else None
    unit = row.measure.unit or (entry.unit if entry is not None else "")
    estimator = row.measure.estimator or (entry.estimator if entry is not None else "")
    return Target(
        name=metric or key,
        known=entry is not None,
        rank=rank,
        scale=row.scale,
        offset=row.offset,
        rollout=row.rollout,
        metadata=Metadata(
            unit=unit, estimator=estimator, pair=row.measure.pair, per=row.measure.per, key=key, note=row.note
        ),
    )
