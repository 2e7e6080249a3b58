"""One judge over all reward functions of a pipeline."""

from collections.abc import Callable
from dataclasses import replace

from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.gold import Gold, golds
from rlprobe.verifier.outcome import Outcome, Status, not_checkable
from rlprobe.verifier.subject import Subject

RANKS: tuple[Status, ...] = ("fail", "warn", "pass", "not_checkable", "not_applicable")  # the worst first


def each(subject: Subject, judge: Callable[[Gold], Outcome], *, raising: bool = False) -> Outcome:
    """The worst outcome over the reward functions: the first failure, else the first warning, else a pass.

    Args:
        subject: whose reward functions they are.
        judge: the outcome for one of them.
        raising: whether an exception of the user's is let through; else V105, which tries every kind of text, tells it.

    Raises:
        Unavailable, RaisedError: as for `golds`, and of the judge where `raising`.
    """
    worst: Outcome | None = None
    for gold in golds(subject):
        try:
            outcome = replace(judge(gold), where=gold.reward.where)
        except RaisedError as error:
            if raising:
                raise
            outcome = not_checkable(f"{gold.reward.name} raises {error.told}: V105 tells on which text")
        if worst is None or RANKS.index(outcome.status) < RANKS.index(worst.status):
            worst = outcome
    assert worst is not None  # golds() gives at least one
    return worst
