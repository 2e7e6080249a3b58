"""The [guardian] section of doctor.toml: what is worth a message, how often, and what may halt a run."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Literal, get_args

from rlprobe.doctor.catalog import entries
from rlprobe.doctor.configuration import ConfigurationError

Occasion = Literal["new", "worse", "recovered", "died", "ended"]
OCCASIONS: tuple[Occasion, ...] = get_args(Occasion)
SECTION = "guardian"
LONGEST = 80  # characters of a value in a message


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Which findings may halt a run. All are active and critical.

    Attributes:
        exact: an exact violation suffices by itself.
        at_once: training that started the watch halts by itself on a loss or gradient norm that stays NaN or infinite.
            Read by that training (integrations/beside.py); the watch would ask for the same a moment later.
        statistical: a finding that rests on statistics suffices where the next two hold.
        log_evidence: natural-log evidence that a statistical finding needs.
        witnesses: other active alarms in its causal chain, of another stage and another metric.
        first_step: below this step nothing halts.
        only: ids that may halt; empty for all.
        never: ids that may not.
    """

    exact: bool = True
    at_once: bool = True
    statistical: bool = True
    log_evidence: float = 14.0
    witnesses: int = 1
    first_step: int = 0
    only: tuple[str, ...] = ()
    never: tuple[str, ...] = ()

    def allows(self, id: str) -> bool:
        """Whether a signature may halt at all."""
        return id not in self.never and (not self.only or id in self.only)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardianSettings:
    """How the guardian speaks and acts.

    Attributes:
        tell: occasions that are worth a message.
        severity: least severity of a finding that is worth one.
        cooldown_seconds: between two messages of one run; what comes in between is told together. What is worse than
            all that was told does not wait.
        messages_a_day: messages of one run in 24 hours.
        silence_steps: usual step times without a row after which a run counts as died.
        silence_seconds: the least such time.
        resume_seconds: how long a run whose process is gone may take to be resumed before its watch ends.
        halt: what may halt a run.
    """

    tell: tuple[Occasion, ...] = OCCASIONS
    severity: Literal["critical", "warning"] = "warning"
    cooldown_seconds: float = 600.0
    messages_a_day: int = 20
    silence_steps: float = 20.0
    silence_seconds: float = 300.0
    resume_seconds: float = 60.0
    halt: Policy = field(default_factory=Policy)


DEFAULT = GuardianSettings()
_NUMBERS: Mapping[str, tuple[float, float]] = {
    "cooldown_seconds": (0, 86_400 * 7),
    "messages_a_day": (1, 10_000),
    "silence_steps": (2, 100_000),
    "silence_seconds": (1, 86_400 * 30),
    "resume_seconds": (0, 86_400 * 30),
    "halt.log_evidence": (0, 1_000_000),
    "halt.witnesses": (0, 20),
    "halt.first_step": (0, 2**53),
}
_MEANINGS: Mapping[str, str] = {
    "tell": f"any of {', '.join(OCCASIONS)}",
    "severity": "least severity of a finding that is worth a message",
    "cooldown_seconds": "between two messages of one run; what comes in between is told together",
    "messages_a_day": "messages of one run in 24 hours",
    "silence_steps": "usual step times without a row after which a run counts as died",
    "silence_seconds": "the least such time",
    "resume_seconds": "a run whose process is gone may take this long to be resumed before its watch ends",
    "halt.exact": "an exact critical violation suffices by itself",
    "halt.at_once": "with attach(halt=...), training itself halts on a loss or gradient norm that stays not finite",
    "halt.statistical": "a critical finding with statistical evidence suffices with its witnesses",
    "halt.log_evidence": "natural-log evidence that such a finding needs",
    "halt.witnesses": "alarms of another stage and metric in its causal chain that it needs",
    "halt.first_step": "below this step nothing halts",
    "halt.only": "ids that may halt; empty for all",
    "halt.never": "ids that may not",
}


def load(path: str | Path) -> GuardianSettings:
    """The [guardian] section of a doctor.toml; the defaults where there is none.

    Raises:
        ConfigurationError: it holds something that cannot be meant; the message names the place and the cure.
    """
    where = str(path)
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8")).get(SECTION, {})
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"{where}: expected readable TOML, got {type(error).__name__}. Mend the file."
        ) from None
    values = _section(table, where, "", GuardianSettings)
    if "halt" in values:
        values["halt"] = Policy(**_section(values["halt"], where, "halt.", Policy))  # type: ignore[arg-type]  # checked by _section
    return GuardianSettings(**values)  # type: ignore[arg-type]  # every value was checked by _section


def show(settings: GuardianSettings = DEFAULT) -> str:
    """The section as TOML, every key with its meaning; `load` reads it back unchanged."""
    lines = [f"[{SECTION}]"]
    table = asdict(settings)
    policy = table.pop("halt")
    lines += [f"{name} = {_toml(value)}  # {_MEANINGS[name]}" for name, value in table.items()]
    lines += ["", f"[{SECTION}.halt]"]
    lines += [f"{name} = {_toml(value)}  # {_MEANINGS['halt.' + name]}" for name, value in policy.items()]
    return "\n".join(lines) + "\n"


def _section(table: object, where: str, prefix: str, kind: type) -> dict[str, object]:
    place = f"{where}: {SECTION}.{prefix}".rstrip(".")
    if not isinstance(table, dict):
        raise ConfigurationError(f"{place}: expected a table, got {_shown(table)}. Write [{SECTION}].")
    known = {one.name for one in fields(kind)}
    out: dict[str, object] = {}
    for name, value in table.items():
        if name not in known:
            offer = ", ".join(sorted(known))
            raise ConfigurationError(f"{place}: expected one of {offer}, got {_shown(name)}. Mend it.")
        out[name] = _checks(prefix + name)(value, f"{where}: {SECTION}.{prefix}{name}")
    return out


def _checks(name: str) -> Callable[[object, str], object]:
    if name in _NUMBERS:
        low, high = _NUMBERS[name]
        whole = name in ("messages_a_day", "halt.witnesses", "halt.first_step")
        return lambda value, place: _number(value, place, low, high, whole=whole)
    if name in ("halt.exact", "halt.at_once", "halt.statistical"):
        return lambda value, place: _one_of(value, place, (True, False))
    if name == "severity":
        return lambda value, place: _one_of(value, place, ("critical", "warning"))
    if name == "tell":
        return lambda value, place: _many_of(value, place, OCCASIONS)
    if name in ("halt.only", "halt.never"):
        return lambda value, place: _many_of(value, place, tuple(entry.signature.id for entry in entries()))
    return lambda value, place: value  # a table of its own


def _number(value: object, place: str, low: float, high: float, *, whole: bool) -> float:
    kinds = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        what = "a whole number" if whole else "a number"
        raise ConfigurationError(f"{place}: expected {what} from {low:g} to {high:g}, got {_shown(value)}. Mend it.")
    return value if whole else float(value)


def _one_of(value: object, place: str, offer: tuple[object, ...]) -> object:
    if not any(value is one or (isinstance(value, str) and value == one) for one in offer):
        raise ConfigurationError(f"{place}: expected {_listed(offer)}, got {_shown(value)}. Mend it.")
    return value


def _many_of(value: object, place: str, offer: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ConfigurationError(f'{place}: expected a list ["..."], got {_shown(value)}. Mend it.')
    for one in value:
        if one not in offer:
            listed = _listed(offer) if len(offer) < 10 else "ids of `rlprobe explain --list`"
            raise ConfigurationError(f"{place}: expected {listed}, got {_shown(one)}. Mend it.")
    return tuple(value)


def _listed(offer: tuple[object, ...]) -> str:
    return " or ".join(str(one).lower() if isinstance(one, bool) else str(one) for one in offer)


def _toml(value: object) -> str:
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(f'"{one}"' for one in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
