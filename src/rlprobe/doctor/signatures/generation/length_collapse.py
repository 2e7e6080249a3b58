"""Completions shrink to nothing while the reward falls; shortening that the reward approves of is health."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

SIGNATURE = Signature(
    id="LENGTH_COLLAPSE",
    stage="generation",
    severity="warning",
    arm="level",
    requires=("completion_tokens_mean",),
    helps=("reward_mean", "accuracy_fraction"),
    shows=("completion_tokens_mean", "accuracy_fraction", "reward_mean"),
    scale="log",
    thresholds=(
        Threshold(
            "short", 0.4, "fraction of the longest five-row median",
            "shorter than this is a collapse when the reward fell; healthy runs shorten to 0.12 while it rises", 0, 1,
        ),
        Threshold(
            "nothing", 0.1, "fraction of the longest five-row median",
            "shorter than this is a collapse unless the reward rose; real collapses ended at 0.0006 and 0.009", 0, 1,
        ),
        Threshold("loss", 3.0, "standard errors", "accuracy, or where it is not logged the reward, below its start by more than this has fallen"),
        Threshold("gain", 2.0, "standard errors", "the same above its start by more than this has risen"),
        Threshold("worth", 5.0, "tokens", "completions that were never longer than this have nothing to lose"),
    ),
    title="Completions shrink to nothing",
    explanation="Completions fall from {peak} to {after} tokens, {left} % of their length, and nothing is gained by it.",
    record="Log the mean number of generated tokens as completion_tokens_mean.",
    remedies=(
        Advice(text="Read the shortest completions around the onset: they show what the reward still pays for."),
        Advice(text="Take the length penalty out of the reward, or pay it for right answers only."),
        Advice(text="Roll back to before the onset and lower the learning rate.", setting="learning_rate", scale=0.3),
        Advice(text="Divide the loss by a constant length, so that short wrong answers are not the cheap way out.", setting="loss_type", suggested="dr_grpo"),
    ),
)  # fmt: skip


def judge(rows: Rows) -> Judgement:
    """Fires when length has settled far below its peak and the reward fell, or did not rise while nothing is left."""
    length = rows.series("completion_tokens_mean")
    level = rows.smooth("completion_tokens_mean")
    seen = rows.observations("completion_tokens_mean")
    peak = rows.carried_max("peak", np.where(seen >= 5, level, np.nan))
    short, nothing = rows.limit("short") * peak, rows.limit("nothing") * peak
    evidence = rows.level("short", length.values < short, length.fresh)
    accuracy = rows.change("accuracy_fraction").z
    gain = np.where(np.isnan(accuracy), rows.change("reward_mean").z, accuracy)  # a reward can pay for brevity itself
    fell, rose = gain < -rows.limit("loss"), gain > rows.limit("gain")
    collapsed = ((level < short) & fell) | ((level < nothing) & ~rose)
    return Judgement(
        fires=(evidence >= rows.alarm) & collapsed & (peak >= rows.limit("worth")),
        holds=(level < 1.25 * short) & ~rose,
        critical=(level < nothing) & fell,
        log_evidence=evidence,
        since=rows.streak("shrinking", level < (1 + rows.limit("short")) / 2 * peak, length.fresh, gap=5),
        facts={"peak": peak, "left": 100 * level / peak},
    )
