"""Walks every stage and never stops at a fault: each check gets the same subject, and its own random numbers."""

import time
from collections.abc import Callable

from rlprobe.verifier import catalog
from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.outcome import Outcome, failed, not_checkable
from rlprobe.verifier.patience import patient
from rlprobe.verifier.pipeline import Pipeline
from rlprobe.verifier.report import Report, Result
from rlprobe.verifier.state import preserved
from rlprobe.verifier.subject import Subject, Unavailable


def verify(target: object, *, only: str | None = None, seed: int = 0, budget_seconds: float = 60.0) -> Report:
    """Run the user's functions against every invariant that they can be held to.

    Args:
        target: a Pipeline, or a TRL trainer (GRPO, RLOO, DPO) that is ready to train.
        only: comma-separated ids, beginnings of ids ("V3") or stages; None runs all.
        seed: base of the random inputs; the same seed gives the same report.
        budget_seconds: after that long, the checks that are left are told as not checkable.
    Returns:
        One result a check, in the order in which the stages feed each other. A fault never raises.
    Raises:
        TypeError: target is neither.
        rlprobe.verifier.catalog.UnknownCheck: `only` names no check.
    """
    pipeline = as_pipeline(target)
    subject = Subject(pipeline, seed=seed)
    deadline = time.monotonic() + budget_seconds
    results: list[Result] = []
    raised: dict[str, str] = {}
    with preserved(pipeline), patient(budget_seconds):
        for entry in catalog.chosen(only):
            if time.monotonic() > deadline:
                outcome = not_checkable(f"the time budget of {budget_seconds:g} s was used up")
            else:
                outcome = _outcome(entry, subject, raised)
            results.append(Result(check=entry.check, outcome=outcome))
    return Report.of(tuple(results), subject)


def _outcome(entry: catalog.Entry, subject: Subject, raised: dict[str, str]) -> Outcome:
    absent = [need for need in entry.check.needs if not any(subject.has(slot) for slot in need.split("|"))]
    if absent:
        named = " and ".join(need.replace("|", " or ") for need in absent)
        return not_checkable(f"{named} was not handed over", missing=tuple(absent))
    return guarded(entry.check.id, lambda: entry.run(subject), raised)


def guarded(identity: str, run: Callable[[], Outcome], raised: dict[str, str]) -> Outcome:
    """The outcome of a check; an exception of the user's code is a failure where it is met first, then a reason."""
    try:
        return run()
    except Unavailable as reason:
        return not_checkable(str(reason), missing=reason.missing)
    except RaisedError as error:
        told = f"{error.slot} raises {error.told}"
        if told in raised:
            return not_checkable(f"{told}: told at {raised[told]}")
        raised[told] = identity
        return failed(
            error.slot, f"{told} on valid input", expected="a result", got=error.told, example=error.example,
            fix="Make the function accept this input, or map its parameters (`map=`) if one was taken for another.",
        )  # fmt: skip
    except Exception as error:  # a fault of the check itself: told, never hidden, and never the user's
        return not_checkable(f"the check itself failed: {type(error).__name__}: {error}")


def as_pipeline(target: object) -> Pipeline:
    """A Pipeline as it is; a live trainer as one.

    Raises:
        TypeError: target is neither.
    """
    if isinstance(target, Pipeline):
        return target
    if hasattr(target, "args") and hasattr(target, "model"):
        from rlprobe.verifier.trainers.trl import pipeline_of

        return pipeline_of(target)
    raise TypeError(
        f"verify: expected a Pipeline or a TRL trainer, got {type(target).__name__}. See `rlprobe verify --help`."
    )
