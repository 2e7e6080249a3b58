"""What two sides were run with: settings, configuration and environment that differ."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rlprobe.recording.run import Run

Source = Literal["setting", "configuration", "environment"]
SOURCES: tuple[Source, ...] = ("setting", "configuration", "environment")
UNKNOWN = "not recorded"
_NESTED = 6  # levels of a configuration that are told apart
_SAYS_NOTHING = frozenset({"command", "host", "hostname", "output_dir", "run_name", "logging_dir", "run_id"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingDifference:
    """One entry that differs between the sides; the values of each side, without repeats."""

    name: str
    source: Source
    ours: tuple[object, ...]
    theirs: tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingDifferences:
    """Entries that differ, settings first, and how many are the same."""

    entries: tuple[SettingDifference, ...]
    same: int


def settings_differences(ours: Sequence[Run], theirs: Sequence[Run]) -> SettingDifferences:
    """Compare what the runs of two sides were run with; an entry that one side never recorded is UNKNOWN there."""
    out: list[SettingDifference] = []
    same, told = 0, set[str]()
    for source in SOURCES:
        sides = [[dict(_entries(run, source)) for run in side] for side in (ours, theirs)]
        if not all(any(held for held in side) for side in sides):
            continue  # one side recorded nothing of the kind
        for name in dict.fromkeys(name for side in sides for held in side for name in held):
            a, b = (_values(side, name) for side in sides)
            if set(a) == set(b):
                same += 1
            elif name not in told:
                told.add(name)
                out.append(SettingDifference(name=name, source=source, ours=a, theirs=b))
    return SettingDifferences(entries=tuple(out), same=same)


def _entries(run: Run, source: Source) -> Iterator[tuple[str, object]]:
    manifest = run.manifest
    if source == "setting":
        named = (("algorithm", manifest.algorithm), ("framework", manifest.framework))
        yield from (each for each in named if each[1])
        yield from manifest.settings.items()
    else:
        yield from _flat(manifest.configuration if source == "configuration" else manifest.environment)


def _flat(tree: Mapping[str, object], above: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    for key, value in tree.items():
        name = f"{above}{key}"
        if key in _SAYS_NOTHING:
            continue
        if isinstance(value, Mapping) and depth < _NESTED:
            yield from _flat(value, f"{name}.", depth + 1)
        else:
            yield name, value


def _values(side: Sequence[Mapping[str, object]], name: str) -> tuple[object, ...]:
    shown = [_comparable(held[name]) if name in held else UNKNOWN for held in side]
    return tuple(dict.fromkeys(shown))


def _comparable(value: object) -> object:
    """A value that can be compared and shown; 1 and 1.0 are the same setting."""
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, int | float):
        return float(value) if float(value) != int(value) else int(value)
    return str(value)
