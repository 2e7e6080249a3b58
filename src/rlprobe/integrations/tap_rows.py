"""What rows of loggers have in common: whose they are, and how a logger counts them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rlprobe.integrations.tap import Tap

Row = Mapping[str, object]


class LoggersRun(Protocol):
    """A run of wandb, Trackio or SwanLab."""

    id: str
    config: object


class RowCount:
    """wandb's count of rows: a call without `commit` or with a step of its own adds to the row that is open."""

    def __init__(self, first: int) -> None:
        self._row = first

    def take(self, step: object, commit: object) -> int:
        """The count that a call's row has."""
        if isinstance(step, int):
            self._row = max(self._row, step)
        row = self._row
        if commit or (commit is None and step is None):
            self._row += 1
        return row


def take_of(tap: "Tap", source: str, run: LoggersRun, row: object, step: object, count: object, axis: str = "") -> bool:
    """Record a row of a logger's run, whether it is one of the run that is recorded; nothing of what is no row."""
    if not isinstance(row, Mapping):
        return False
    config = lambda: as_dict(getattr(run, "config", None))  # noqa: E731 - a name for one argument
    return tap.take(source, row, step=step, count=count, run=str(getattr(run, "id", "")), config=config, axis=axis)


def as_dict(config: object) -> dict[str, object]:
    """A configuration as a dict, whatever object holds it; a logger's own entries begin with an underscore."""
    if isinstance(config, Mapping):
        return {str(key): value for key, value in config.items() if not str(key).startswith("_")}
    for name in ("as_dict", "to_dict"):
        if callable(method := getattr(config, name, None)):
            return as_dict(method())
    if hasattr(config, "keys") and hasattr(config, "__getitem__"):
        return as_dict({key: config[key] for key in config.keys()})  # noqa: SIM118 - it is no dict
    return {}
