"""The result of a verification: one entry a check, what was measured and assumed, and all of it as JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass

import numpy as np

from rlprobe.verifier import next_steps
from rlprobe.verifier.binding import Bound
from rlprobe.verifier.outcome import STAGES, Check, Outcome, Status
from rlprobe.verifier.repro import snippet
from rlprobe.verifier.subject import Subject, Unavailable

SCHEMA = "rlprobe.verify/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One check with its outcome.

    Attributes:
        where: "file.py:12" of the function that was put to the test; "" where there is none.
        suspect: slots of earlier stages that failed and that this check also used.
    """

    check: Check
    outcome: Outcome
    where: str = ""
    suspect: tuple[str, ...] = ()
    target: str = ""

    @property
    def id(self) -> str:
        """The id of the check."""
        return self.check.id

    @property
    def stage(self) -> str:
        """The stage of the check."""
        return self.check.stage

    @property
    def status(self) -> Status:
        """pass, fail, warn, not_checkable or not_applicable."""
        return self.outcome.status

    @property
    def fix(self) -> str:
        """The narrowest remedy known."""
        return self.outcome.fix or self.check.fix

    def repro(self) -> str:
        """Python that calls the function with the smallest failing input; "" where the outcome has none."""
        return snippet(self.outcome, self.target)

    def tree(self) -> dict[str, object]:
        """As a tree for JSON; arrays as nested lists."""
        outcome = self.outcome
        return {
            "id": self.check.id,
            "title": self.check.title,
            "stage": self.check.stage,
            "category": self.check.category,
            "status": outcome.status,
            "statement": outcome.statement,
            "expected": outcome.expected,
            "got": outcome.got,
            "fingerprint": outcome.fingerprint,
            "function": outcome.slot,
            "where": self.where,
            "example": {role: _plain(value) for role, value in outcome.example.items()},
            "fix": self.fix if outcome.status in ("fail", "warn") else "",
            "repro": self.repro(),
            "missing": list(outcome.missing),
            "next": next_steps.of_check(self),
            "suspect": list(self.suspect),
            "causes": list(self.check.causes),
            "page": self.check.id,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything a verification found.

    Attributes:
        results: one entry a check, in the order of the stages.
        bindings: a line a function: which parameter plays which role, and how that was told.
        measured: conventions that the code was found to follow.
        declared: settings in force.
        seed: base of the random inputs.
    """

    results: tuple[Result, ...]
    bindings: tuple[str, ...]
    measured: Mapping[str, object]
    declared: Mapping[str, object]
    seed: int

    @classmethod
    def of(cls, results: tuple[Result, ...], subject: Subject) -> "Report":
        """The report of results, with file and line of each function and what each result may be suspect of."""
        broken: dict[str, int] = {}
        told = []
        for result in results:
            rank = STAGES.index(result.check.stage)
            suspect = [slot for slot in _slots(result.check) if broken.get(slot, rank) < rank]
            if result.status == "fail" and result.outcome.slot:
                broken.setdefault(result.outcome.slot, rank)
            where, target = _located(result.outcome, subject)
            told.append(
                Result(check=result.check, outcome=result.outcome, where=where, suspect=tuple(suspect), target=target)
            )
        return cls(
            results=tuple(told),
            bindings=_bindings(subject),
            measured=dict(subject.measured),
            declared=dict(subject.declared.items()),
            seed=subject.seed,
        )

    @property
    def ok(self) -> bool:
        """Whether no check failed and at least one passed."""
        return not self.failures and any(result.status == "pass" for result in self.results)

    @property
    def failures(self) -> tuple[Result, ...]:
        """Checks that failed, first stage first."""
        return tuple(result for result in self.results if result.status == "fail")

    @property
    def warnings(self) -> tuple[Result, ...]:
        """Checks that ask for a look, first stage first."""
        return tuple(result for result in self.results if result.status == "warn")

    @property
    def findings(self) -> tuple[Result, ...]:
        """Failures, then warnings."""
        return self.failures + self.warnings

    def worst(self) -> Status:
        """fail, warn or pass; not_checkable where nothing could be checked."""
        present = {result.status for result in self.results}
        for status in ("fail", "warn", "pass"):
            if status in present:
                return status
        return "not_checkable"

    def missing(self) -> tuple[str, ...]:
        """What to hand over so that more can be checked, most wanted first."""
        wanted: dict[str, int] = {}
        for result in self.results:
            for name in result.outcome.missing:
                wanted[name] = wanted.get(name, 0) + 1
        return tuple(sorted(wanted, key=lambda name: (-wanted[name], name)))

    def count(self, status: Status) -> int:
        """Checks with that status."""
        return sum(result.status == status for result in self.results)

    def to_json(self, change: object = None) -> str:
        """The report as JSON: stable ids and order, no clock; schema rlprobe.verify/1. `change`: a compare.Change."""
        tree: dict[str, object] = {
            "schema": SCHEMA,
            "ok": self.ok,
            "counts": {s: self.count(s) for s in ("pass", "fail", "warn", "not_checkable", "not_applicable")},
            "checks": [result.tree() for result in self.results],
            "missing": list(self.missing()),
            "next": next_steps.of_report(self.results, self.missing()),
            "bindings": list(self.bindings),
            "measured": {name: _plain(value) for name, value in sorted(self.measured.items())},
            "declared": {name: _plain(value) for name, value in self.declared.items()},
            "seed": self.seed,
        }
        if is_dataclass(change) and not isinstance(change, type):
            tree["change"] = asdict(change)
        return json.dumps(tree, indent=2, allow_nan=False) + "\n"


def _slots(check: Check) -> tuple[str, ...]:
    return tuple(slot for need in check.needs for slot in need.split("|"))


def _located(outcome: Outcome, subject: Subject) -> tuple[str, str]:
    if outcome.where:
        return outcome.where, ""
    slot = outcome.slot.partition(":")[0]
    given = getattr(subject.pipeline, slot, None) if slot else None
    if given is None and slot == "value_loss":
        given = subject.pipeline.loss  # the critic's part of one loss for both
    if given is None:
        return "", ""
    from rlprobe.verifier.function import location

    name = getattr(given, "__qualname__", type(given).__name__)
    return location(given), f"{getattr(given, '__module__', '')}:{name}" if callable(given) else ""


def _bindings(subject: Subject) -> tuple[str, ...]:
    lines = []
    for slot in subject.pipeline.slots():
        if not callable(getattr(subject.pipeline, slot)) or slot in ("model", "ref_model", "tokenizer", "optimizer"):
            continue
        try:
            binding = subject.bound(slot).binding
        except Unavailable as reason:
            lines.append(str(reason))
            continue
        except Exception as error:
            lines.append(f"{slot}: {error}")
            continue
        shown = [_played(one) for one in binding.bound]
        shown += [f"{role} assumed {value}" for role, value in binding.assumed.items()]
        lines.append(f"{slot}: {', '.join(shown)}")
    return tuple(lines)


def _played(bound: Bound) -> str:
    role = bound.role if bound.parameter == bound.role else f"{bound.parameter} as {bound.role}"
    return f"{role} (by position)" if bound.how == "position" else role


def _plain(value: object) -> object:
    """A value as JSON can hold it; numbers that are not finite become their names."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | bool) or value is None else repr(value)[:200]
