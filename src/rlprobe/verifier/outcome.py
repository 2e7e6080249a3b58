"""What a check is and what it may answer: data only, no judgement, no rendering."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Stage = Literal["reward", "advantages", "logprobs", "loss", "decode", "reference", "configuration", "source"]
STAGES: tuple[Stage, ...] = (
    "reward",
    "advantages",
    "logprobs",
    "loss",
    "decode",
    "reference",
    "configuration",
    "source",
)
Status = Literal["pass", "fail", "warn", "not_checkable", "not_applicable"]
Category = Literal[
    "log-space signs",
    "constants",
    "string processing",
    "reward and decoding mismatch",
    "reference drift",
    "gradient breakage",
    "configuration",
    "grouping and order",
    "masks and alignment",
    "scaling and aggregation",
    "rollout sync and token identity",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The definition of one invariant.

    Attributes:
        id: stable id, "V301"; the hundreds digit is the stage.
        title: the invariant as a clause of at most 70 characters: "log-probs are at most 0".
        formula: the invariant as a formula of at most 90 characters: "log p <= 0".
        stage: pipeline stage.
        category: pitfall category of the guide that a violation belongs to.
        needs: slots of the pipeline it cannot do without; "a|b" takes either.
        fix: narrow remedy, imperative: one branch or constant, the rest stays.
        causes: ids of the doctor's signatures that a violation causes in a run.
    """

    id: str
    title: str
    formula: str
    stage: Stage
    category: Category
    needs: tuple[str, ...]
    fix: str
    causes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answer of one check.

    Attributes:
        status: what it came to.
        statement: what was found, present tense, with the numbers compared.
        expected, got: the two sides of the comparison.
        slot: the function of the pipeline that was put to the test.
        example: smallest failing input, by role; arrays are numpy's.
        fingerprint: the mistake that gives exactly these numbers ("temperature ignored"); "" where none is known.
        fix: remedy narrower than the check's own; "" takes the check's.
        missing: what to hand over so that it can be checked (status not_checkable).
        where: file and line of the evidence where it is not the slot's own function (source lint).
    """

    status: Status
    statement: str = ""
    expected: str = ""
    got: str = ""
    slot: str = ""
    example: Mapping[str, object] = field(default_factory=dict)
    fingerprint: str = ""
    fix: str = ""
    missing: tuple[str, ...] = ()
    where: str = ""


def passed(statement: str = "") -> Outcome:
    """The invariant holds; `statement` tells what was measured, where that is worth knowing."""
    return Outcome(status="pass", statement=statement)


def failed(
    slot: str,
    statement: str,
    *,
    expected: str = "",
    got: str = "",
    example: Mapping[str, object] | None = None,
    fingerprint: str = "",
    fix: str = "",
    where: str = "",
) -> Outcome:
    """The invariant is violated by the function in `slot`."""
    return Outcome(
        status="fail",
        statement=statement,
        expected=expected,
        got=got,
        slot=slot,
        example=example or {},
        fingerprint=fingerprint,
        fix=fix,
        where=where,
    )


def warned(
    slot: str,
    statement: str,
    *,
    expected: str = "",
    got: str = "",
    example: Mapping[str, object] | None = None,
    fingerprint: str = "",
    fix: str = "",
    where: str = "",
) -> Outcome:
    """Not wrong in itself, and worth a look: a convention outside every known family, a risky setting, a lint."""
    return Outcome(
        status="warn",
        statement=statement,
        expected=expected,
        got=got,
        slot=slot,
        example=example or {},
        fingerprint=fingerprint,
        fix=fix,
        where=where,
    )


def not_checkable(reason: str, *, missing: tuple[str, ...] = ()) -> Outcome:
    """It cannot be told with what was handed over; `missing` names what to hand over."""
    return Outcome(status="not_checkable", statement=reason, missing=missing)


def not_applicable(reason: str) -> Outcome:
    """The declared algorithm has no such thing."""
    return Outcome(status="not_applicable", statement=reason)
