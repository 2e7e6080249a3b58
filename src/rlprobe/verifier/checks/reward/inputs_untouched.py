"""Scoring leaves completions and columns as they were: the trainer and the next reward function use them again."""

import copy

from rlprobe.verifier.measure.batches import mixed
from rlprobe.verifier.measure.gold import Gold
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V111",
    title="scoring leaves its inputs as they were",
    formula="inputs after = inputs before",
    stage="reward",
    category="grouping and order",
    needs=("reward",),
    fix="Copy what is popped, sorted or stripped in place.",
    causes=("GROUPING_BUG", "REWARD_TEXT_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """The arguments before and after a call."""
    return each(subject, _judged)


def _judged(gold: Gold) -> Outcome:
    samples = mixed(gold)
    samples = samples[:1] if gold.reward.layout == "single" else samples
    positional, keywords = gold.reward.arguments(samples)
    before = copy.deepcopy((positional, keywords))
    gold.reward.called(positional, keywords, samples)
    if (positional, keywords) != before:
        names = [one.parameter for one in gold.reward.binding.bound if one.positional]
        changed = [name for name, value in keywords.items() if value != before[1][name]]
        changed += [name for name, value, old in zip(names, positional, before[0], strict=False) if value != old]
        return failed(
            gold.reward.slot,
            f"{gold.reward.name} changes its argument {', '.join(changed)} in place.",
            expected="arguments as they were",
            got=f"{', '.join(changed)} changed",
            example=gold.reward.example(samples),
        )
    return passed()
