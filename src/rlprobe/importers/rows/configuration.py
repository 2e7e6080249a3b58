"""A configuration that a log carries as its first row."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rlprobe.importers.rows.decode import Row, decode, row_of
from rlprobe.importers.rows.steps import STEP_KEY_SET
from rlprobe.recording.settings import SETTINGS

_HOLDERS: Final = frozenset({"config", "configuration", "args", "hyperparameters", "hparams", "training_args"})
_MIN_SETTINGS: Final = 3  # known settings that make a row without a step a configuration
_MAX_TEXT: Final = 200  # characters of a kept value
_MAX_FILE: Final = 4 << 20  # bytes of a configuration in a file of its own
_MAX_PARTS: Final = 8  # of a dotted key, from its end
_VERL_ROOT: Final = "actor_rollout_ref."  # EasyR1 has "worker." in its place
_APART: Final = "use_vllm"  # TRL: whether a sampler of its own generates
_SECRET = re.compile(r"api_?key|token$|secret|password|credential", re.IGNORECASE)


def _spellings() -> dict[str, str]:
    known = {
        spelling: each.name
        for each in SETTINGS
        for spelling in (*each.former, each.openrlhf.lstrip("-"), each.verl, each.trl)
        if spelling
    }
    shorter = {key.removeprefix(_VERL_ROOT): name for key, name in known.items() if key.startswith(_VERL_ROOT)}
    return known | shorter | {each.name: each.name for each in SETTINGS}


_KNOWN: Final = _spellings()


def configuration_of(row: Row) -> dict[str, object] | None:
    """The trainer's own settings, when the row is a configuration; None when it is a row of metrics."""
    if not STEP_KEY_SET.isdisjoint(row):
        return None
    held = any(key.split("/", 1)[0] in _HOLDERS and "/" in key for key in row)
    named = row.get("type") in _HOLDERS or row.get("event") in _HOLDERS
    plain = kept(row)
    return plain if held or named or len(settings_of(plain)) >= _MIN_SETTINGS else None


def settings_of(configuration: Mapping[str, object]) -> dict[str, object]:
    """Canonical settings of a configuration, found by the whole key or by the longest end of it that is known."""
    found: dict[str, object] = {}
    apart: object = None
    for key, value in configuration.items():
        inner = key.split("/", 1)[1] if key.split("/", 1)[0] in _HOLDERS and "/" in key else key
        parts = inner.replace("/", ".").split(".")[-_MAX_PARTS:]
        name = next(filter(None, (_KNOWN.get(".".join(parts[start:])) for start in range(len(parts)))), None)
        if name is not None:
            found[name] = value
        if parts[-1] == _APART:
            apart = value
    if apart in (False, "False", "false"):
        found.pop("sampler_correction", None)  # its default is on, but it only means something with a sampler apart
    return found


def stored(path: Path) -> dict[str, object]:
    """The configuration in a JSON file beside a log; empty when there is none."""
    try:
        with open(path, "rb") as file:
            row = row_of(decode(file.read(_MAX_FILE)), frozenset())
    except OSError:
        return {}
    return {} if row is None else kept(row)


def kept(row: Mapping[str, object]) -> dict[str, object]:
    """What of a configuration is kept: numbers, flags and short texts that are no secrets."""
    return {key: value for key, value in row.items() if _keepable(key, value)}


def _keepable(key: str, value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= _MAX_TEXT and _SECRET.search(key) is None
    return isinstance(value, bool | int | float)
