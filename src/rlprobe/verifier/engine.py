"""Walks every stage and never stops at a fault: each check gets the same subject, and its own random numbers."""

import time
from collections.abc import Callable
from dataclasses import replace

from rlprobe.verifier import catalog
from rlprobe.verifier.dataset import rows_of
from rlprobe.verifier.function import RaisedError, stood
from rlprobe.verifier.outcome import Outcome, failed, not_checkable
from rlprobe.verifier.patience import LateError, StuckError, bounded, patient
from rlprobe.verifier.pipeline import Pipeline
from rlprobe.verifier.report import Report, Result
from rlprobe.verifier.state import preserved
from rlprobe.verifier.subject import Subject, Unavailable

_ACCEPT = "Make the function accept this input, or map its parameters (`map=`) if one was taken for another."
_END = "End the loop at that line, or give a function that is only slow a larger `--budget` (`budget_seconds=`)."


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
        return bounded(run)
    except StuckError as stuck:
        where = f"at {stood(stuck) or 'a line of rlprobe'}, where it stood still"
        return not_checkable(f"ended {where}; `--budget` (`budget_seconds=`) gives it more time")
    except Unavailable as reason:
        return not_checkable(str(reason), missing=reason.missing)
    except RaisedError as error:
        statement = f"{error.slot} raises {error.told}"
        if statement in raised:
            return not_checkable(f"{statement}: told at {raised[statement]}")
        raised[statement] = identity
        return failed(
            error.slot, f"{statement} on valid input", expected="a result", got=error.told, example=error.example,
            fix=_END if isinstance(error.__cause__, LateError) else _ACCEPT,
        )  # fmt: skip
    except Exception as error:  # a fault of the check itself: told, never hidden, and never the user's
        return not_checkable(f"the check itself failed: {type(error).__name__}: {error}")


def as_pipeline(target: object) -> Pipeline:
    """A Pipeline with its data set as rows; a live trainer as one.

    Raises:
        TypeError: target is neither, or its data set has no rows.
    """
    if isinstance(target, Pipeline):
        return replace(target, dataset=rows_of(target.dataset))
    if hasattr(target, "args") and hasattr(target, "model"):
        from rlprobe.verifier.trainers.trl import pipeline_of

        return pipeline_of(target)
    raise TypeError(
        f"verify: expected a Pipeline or a TRL trainer, got {type(target).__name__}. See `rlprobe verify --help`."
    )
