"""doctor.toml: which signatures speak, how severe they are and what they compare with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log
from pathlib import Path
from typing import get_args

from rlprobe.doctor.catalog import entries
from rlprobe.doctor.finding import Severity

HYPOTHESES = (
    40  # statistical hypotheses of the catalog that a row may test, rounded up; a constant, not a count of metrics
)
LONGEST = 80  # characters of a value in a message
ALPHA = 0.05  # chance that a healthy run of any length raises one statistical finding, before the effect gates


class ConfigurationError(ValueError):
    """doctor.toml holds something that cannot be meant; the message is one line with the place and the cure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the configuration says of one signature."""

    enabled: bool = True
    severity: Severity | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """How the doctor judges.

    Attributes:
        sensitivity: 1 is calibrated; 2 asks for half the log evidence, 0.5 for twice as much.
        signatures: id -> choice, for those that differ from the default.
    """

    sensitivity: float = 1.0
    signatures: Mapping[str, Choice] = field(default_factory=dict)

    @property
    def alarm(self) -> float:
        """Natural-log evidence at which a statistical signature may fire."""
        return log(HYPOTHESES / ALPHA) / self.sensitivity

    def choice(self, id: str) -> Choice:
        """The choice for a signature."""
        return self.signatures.get(id, Choice())


DEFAULT = Configuration()


def load(path: str | Path) -> Configuration:
    """Read doctor.toml.

    Raises:
        ConfigurationError: the file cannot be read, is not TOML, or names an unknown signature, key or value.
    """
    import tomllib  # a diagnosis without a file does without

    where = str(path)
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{where}: expected a readable file, got {error.strerror}. Check the path.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{where}: expected TOML, got: {error}. Mend that line.") from error
    except RecursionError:
        raise ConfigurationError(f"{where}: expected TOML, got nesting without end. Write one table an id.") from None
    for key in table:
        if key not in ("sensitivity", "signatures", "guardian"):  # the last is read by the guardian itself
            raise ConfigurationError(f"{where}: expected `sensitivity` or `signatures`, got {_shown(key)}. Remove it.")
    sensitivity = _number(table.get("sensitivity", 1.0), where, "sensitivity", 0.1, 10.0)
    chosen = table.get("signatures", {})
    if not isinstance(chosen, dict):
        raise ConfigurationError(
            f"{where}: expected a table [signatures.ID], got {_shown(chosen)}. Write one table an id."
        )
    return Configuration(
        sensitivity=sensitivity, signatures={id: _choice(id, table, where) for id, table in chosen.items()}
    )


def show(configuration: Configuration = DEFAULT) -> str:
    """The whole configuration as TOML, every threshold with its unit and meaning; `load` reads it back unchanged."""
    lines = [f"sensitivity = {configuration.sensitivity!r}  # 1 is calibrated; 2 asks for half the log evidence", ""]
    for entry in entries():
        signature, choice = entry.signature, configuration.choice(entry.signature.id)
        lines.append(f"[signatures.{signature.id}]")
        lines.append(f"enabled = {str(choice.enabled).lower()}")
        lines.append(f'severity = "{choice.severity or signature.severity}"')
        for threshold in signature.thresholds:
            value = choice.thresholds.get(threshold.name, threshold.value)
            lines.append(f"{threshold.name} = {value!r}  # {threshold.unit}; {threshold.meaning}")
        lines.append("")
    return "\n".join(lines)


def _choice(id: str, table: object, where: str) -> Choice:
    known = {entry.signature.id: entry.signature for entry in entries()}
    if id not in known:
        raise ConfigurationError(
            f"{where}: signatures: expected known ids, got {_shown(id)}. See `rlprobe explain --list`."
        )
    if not isinstance(table, dict):
        raise ConfigurationError(
            f"{where}: signatures.{id}: expected a table, got {_shown(table)}. Write [signatures.{id}]."
        )
    limits = {threshold.name: threshold for threshold in known[id].thresholds}
    enabled, severity = table.get("enabled", True), table.get("severity")
    if not isinstance(enabled, bool):
        raise ConfigurationError(
            f"{where}: signatures.{id}.enabled: expected true or false, got {_shown(enabled)}. Mend it."
        )
    if severity is not None and severity not in get_args(Severity):
        raise ConfigurationError(
            f"{where}: signatures.{id}.severity: expected critical, warning or info, got {_shown(severity)}. Mend it."
        )
    values = {}
    for name, value in table.items():
        if name in ("enabled", "severity"):
            continue
        if name not in limits:
            offer = ", ".join(limits) or "none"
            raise ConfigurationError(
                f"{where}: signatures.{id}: expected one of its thresholds ({offer}), got {_shown(name)}. Mend it."
            )
        values[name] = _number(value, where, f"signatures.{id}.{name}", limits[name].low, limits[name].high)
    default = None if severity == known[id].severity else severity
    return Choice(enabled=enabled, severity=default, thresholds=values)


def _number(value: object, where: str, place: str, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ConfigurationError(
            f"{where}: {place}: expected a number from {low:g} to {high:g}, got {_shown(value)}. Mend it."
        )
    return float(value)


def _shown(value: object) -> str:
    """The value on one line, cut where it is long."""
    text = repr(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
