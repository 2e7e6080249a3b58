"""Foreign keys of a live run as canonical metrics.

By the key maps of the importers, so that a run reads the same live and from its log.
"""

from collections.abc import Mapping

from rlprobe.importers.rows.configuration import kept, settings_of
from rlprobe.importers.rows.plan import Plan, Target
from rlprobe.importers.rows.steps import STEP_KEY_SET, STEP_KEYS, step_of
from rlprobe.recording.run import Metadata
from rlprobe.recording.settings import SETTINGS

_MAX_KEYS = 8192  # distinct keys that are looked up; the map's own bound
_MAX_DEPTH = 6  # nested mappings; deeper ones are left out
_SUMMARY = frozenset({"train_runtime", "total_flos"})  # the row that transformers adds after the last step
_SCALAR_SHAPES: tuple[tuple[int, ...], ...] = ((), (1,))


def flat(row: Mapping[str, object], prefix: str = "", depth: int = 0) -> dict[str, object]:
    """The row with nested keys joined by a slash."""
    out: dict[str, object] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            if depth < _MAX_DEPTH:
                out |= flat(value, f"{prefix}{key}/", depth + 1)
        else:
            out[f"{prefix}{key}"] = value
    return out


def is_number(value: object) -> bool:
    """Whether a value is one number: a Python one, or an array or tensor that holds one."""
    if isinstance(value, int | float):
        return True
    return hasattr(value, "item") and tuple(getattr(value, "shape", (0,))) in _SCALAR_SHAPES


def own_step(row: Mapping[str, object], axis: str | None = None) -> int | None:
    """The step that a row carries, as a whole number: under that axis, or under a name that trainers give it."""
    keys = tuple(key for key in (STEP_KEYS if axis is None else (axis,)) if key in row)
    plain = {key: value.item() if hasattr(value := row[key], "item") else value for key in keys}
    return step_of(plain, keys)


def bare(key: str) -> str:
    """The key without what a logger puts before it: several loggers of one run spell one number so or so."""
    if key.startswith("eval_"):
        return f"eval/{key[5:]}"
    return key.removeprefix("train/")


def settings_in(configuration: Mapping[str, object]) -> dict[str, object]:
    """The canonical settings of a trainer's own configuration.

    A whole key of verl's names its setting; elsewhere the end of a key does, which others of verl's share.
    """
    plain = kept(flat(configuration))
    whole = {each.name: plain[key] for each in SETTINGS if each.verl and (key := each.verl.replace(".", "/")) in plain}
    return settings_of(plain) | whole


class Naming:
    """What each foreign key of one run means, given the keys seen so far.

    Args:
        framework: whose keys they are, where that is known; otherwise the keys tell.
    """

    def __init__(self, framework: str = "") -> None:
        self._plan = Plan(None, framework)
        self._version = 0
        self._targets: dict[str, Target | None] = {}
        self._taken: dict[str, str] = {}  # canonical metric -> the foreign key that fills it
        self._told: Mapping[str, Metadata] = {}
        self.metadata: dict[str, Metadata] = {}

    @property
    def framework(self) -> str:
        """The framework whose keys these are; "" while they are nobody's in particular."""
        return self._plan.framework

    @property
    def algorithm(self) -> str:
        """The algorithm that the keys speak of; "" before any does."""
        return self._plan.algorithm

    def canonical(self, row: Mapping[str, object]) -> dict[str, object]:
        """The numbers of a flat row under their canonical names; its step and what is no number are left out."""
        if not _SUMMARY.isdisjoint(map(bare, row)):
            return {}
        self._see(row)
        out = {}
        for key, value in row.items():
            target = self._targets.get(key)
            if target is not None and is_number(value):
                changed = target.scale != 1 or target.offset != 0
                out[target.name] = value * target.scale + target.offset if changed else value  # type: ignore[operator]  # a number
        return out

    def news(self) -> bool:
        """Whether the metadata changed since the last call."""
        changed = self.metadata != self._told
        if changed:
            self._told = dict(self.metadata)
        return changed

    def _see(self, row: Mapping[str, object]) -> None:
        new = [key for key, value in row.items() if key not in self._targets and is_number(value)]
        if not new:
            return
        self._plan.see(new)
        if self._plan.version != self._version:
            self._version = self._plan.version
            again, self._targets, self._taken = list(self._targets), {}, {}
            new = [*again, *(key for key in new if key not in again)]
        for key in new:
            if len(self._targets) < _MAX_KEYS:
                self._targets[key] = None if key in STEP_KEY_SET else self._settle(key)

    def _settle(self, key: str) -> Target:
        """Where a key's numbers go: of two spellings of one metric the better one has it."""
        target = self._plan.target(key)
        rival = self._targets.get(self._taken.get(target.name, ""))
        if rival is not None and rival.name == target.name:
            if rival.rank <= target.rank:
                target = target.as_foreign()
            else:
                other = rival.as_foreign()
                self._targets[self._taken[target.name]] = other
                self.metadata[other.name] = other.metadata
        self._taken[target.name] = key
        self.metadata[target.name] = target.metadata
        return target
