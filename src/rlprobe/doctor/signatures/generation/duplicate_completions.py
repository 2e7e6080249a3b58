"""The completions of a group are the same text, so a group has nothing to compare."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.doctor.silence import answered
from rlprobe.recording.run import FloatArray

SIGNATURE = Signature(
    id="DUPLICATE_COMPLETIONS",
    stage="generation",
    severity="warning",
    arm="level",
    requires=("duplicate_fraction",),
    helps=("group_size_mean", "empty_fraction", "reward_mean", "completion_tokens_mean"),
    shows=("duplicate_fraction", "entropy_mean", "reward_mean"),
    thresholds=(
        Threshold(
            "same", 0.9, "fraction of what a group of copies would give",
            "beyond it practically every group is one text; healthy lab runs start at 0.07 and reach 0.96 with mastery", 0, 1,
        ),
        Threshold("gain", 2.0, "standard errors", "reward above its start by more than this: the answer has been learned"),
        Threshold("tokens", 4.0, "tokens", "answers shorter than this repeat by their nature"),
    ),
    title="Completions of a group are copies",
    explanation="Of the completions {copies} % repeat another one of their group.",
    record="Log the mean over groups of the fraction of completions that repeat another of the group as duplicate_fraction.",
    remedies=(
        Advice(text="Give every sample its own seed: one seed a request makes n copies."),
        Advice(text="Sample at a temperature near one.", setting="temperature", suggested="1.0", only_below=0.7),
        Advice(text="Check that group members are n samples of one request, not one sample repeated n times."),
        Advice(text="If diversity was lost in training, raise the upper clip range or roll back.", setting="clip_high", suggested="0.28"),
    ),
)  # fmt: skip


def judge(rows: Rows) -> Judgement:
    """Fires when groups are copies from the start, or became copies without the reward having risen."""
    copies, level = rows.series("duplicate_fraction"), rows.smooth("duplicate_fraction")
    all_same = _of_copies(rows)
    same = rows.limit("same") * all_same
    from_start = rows.baseline("duplicate_fraction", 10).level >= same
    learned = ((rows.change("reward_mean").z > rows.limit("gain")) | answered(rows)) & ~from_start
    short = rows.smooth("completion_tokens_mean") < rows.limit("tokens")
    blank = rows.smooth("empty_fraction") > 0.5  # empty texts are copies of each other, and that is not the fault
    evidence = rows.level("copies", copies.values >= same, copies.fresh)
    holds = (level >= same) & ~learned & ~short & ~blank
    return Judgement(
        fires=(evidence >= rows.alarm) & holds & ~np.isnan(rows.baseline("duplicate_fraction", 10).level),
        holds=holds,
        critical=level >= 0.995 * all_same,
        log_evidence=evidence,
        since=np.where(from_start, 0, -1),
        facts={"copies": 100 * level},
    )


def _of_copies(rows: Rows) -> FloatArray:
    """(n,) the fraction of repeats in a group of copies: all samples but the first; the size is 8 where unknown."""
    size = rows.series("group_size_mean").values
    size = np.where(np.isnan(size), rows.number("group_size", 8.0), size)
    return np.asarray(1.0 - 1.0 / np.maximum(size, 2.0), dtype=np.float64)
