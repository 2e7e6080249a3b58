"""From what a caller logged to float64: what is a number, what is none, and under which name it is kept.

Runs on the writer thread and imports neither numpy nor torch: foreign scalars are asked for their `item()`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rlprobe.recording.layout import RESERVED, RESERVED_PREFIX

_EXACT = 1 << 53  # largest integer up to which float64 holds every integer


@dataclass(frozen=True, slots=True, kw_only=True)
class Bad:
    """A value that cannot be recorded as it is: the metric, the value in words, and why."""

    metric: str
    value: str
    reason: str


def metric_name(key: object) -> str:
    """The name under which a logged key is stored."""
    name = key if isinstance(key, str) else str(key)
    name = name.encode("utf-8", "replace").decode("utf-8")
    return RESERVED_PREFIX + name if name in RESERVED else name


def number(value: object) -> tuple[float | None, str]:
    """(the value as a float, "") or (None or the nearest float, why it is not recorded exactly)."""
    if isinstance(value, (str, bytes)) or value is None:
        return None, "no number"
    if isinstance(value, int):
        try:
            converted = float(value)
        except OverflowError:
            return None, "beyond the range of float64"
        return converted, "" if abs(value) <= _EXACT or int(converted) == value else "rounded to float64"
    if isinstance(value, (list, tuple, dict, set, frozenset, complex)):
        return None, "no number"
    try:
        size = int(getattr(value, "size", 1)) if not callable(getattr(value, "size", 1)) else int(value.numel())  # type: ignore[attr-defined]  # a tensor's size is a method
        if size != 1:
            return None, f"holds {size} values"
        item = value.item() if hasattr(value, "item") else value
        return number(item) if isinstance(item, int) else (float(item), "")  # type: ignore[arg-type]  # what has no __float__ raises TypeError
    except Exception as error:  # a foreign object's own code ran; whatever it raised, only this value is lost
        return None, f"{type(error).__name__}"


def exact(value: object) -> bool:
    """Whether a float, bool or int is the same number in float64."""
    return type(value) is not int or -_EXACT <= value <= _EXACT


def convert(metrics: Mapping[str, object] | Mapping[object, object]) -> tuple[list[str], list[float], list[Bad]]:
    """Names and floats of what was logged, and what could not be recorded as it is."""
    names: list[str] = []
    values: list[float] = []
    bad: list[Bad] = []
    for key, value in metrics.items():
        try:
            name = metric_name(key)
        except Exception as error:  # a foreign key's __str__ failed; only its value is lost
            bad.append(Bad(metric=type(key).__name__, value="", reason=f"key: {type(error).__name__}"))
            continue
        converted, reason = (value, "") if type(value) is float else number(value)
        if reason:
            bad.append(Bad(metric=name, value=shown(value), reason=reason))
        if converted is not None:
            names.append(name)
            values.append(converted)
    return names, values, bad


def shown(value: object) -> str:
    """The value in at most 80 characters, for a message."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    try:
        text = value[:80] if isinstance(value, str) else repr(value)
    except Exception as error:  # a foreign __repr__
        text = f"<{type(value).__name__}: {type(error).__name__}>"
    return text if len(text) <= 80 else text[:77] + "..."
