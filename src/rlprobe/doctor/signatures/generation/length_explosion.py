"""Completions grow and grow, and the reward gains nothing by it."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

START = 10  # rows that make the start level
PATIENCE = 15  # rows for which nothing was gained

SIGNATURE = Signature(
    id="LENGTH_EXPLOSION",
    stage="generation",
    severity="warning",
    arm="level",
    requires=("completion_tokens_mean", "reward_mean|accuracy_fraction"),
    helps=("accuracy_fraction", "truncated_fraction"),
    shows=("completion_tokens_mean", "accuracy_fraction", "reward_mean", "truncated_fraction"),
    scale="log",
    thresholds=(
        Threshold(
            "growth", 3.0, "times the median of the first ten rows",
            "longer than this without gain; healthy runs grew up to 2.2 times with rising reward, a failing one 4.2 times",
            1.2,
        ),
        Threshold("gain", 1.0, "standard errors", "accuracy, or where it is not logged the reward, above its start by more than this pays for the length"),
    ),
    title="Completions grow without gain",
    explanation="Completions grow to {times} times their first length ({after} tokens) and accuracy does not rise with it.",
    record="Log the mean number of generated tokens as completion_tokens_mean, with the reward as reward_mean.",
    remedies=(
        Advice(text="Compare the length of right and of wrong answers; when only wrong ones grow, divide the loss by a constant length.", setting="loss_type", suggested="dr_grpo"),
        Advice(text="Penalise length softly before the cap."),
        Advice(text="Check entropy and repetition: text that drifts into noise is long, too."),
        Advice(text="Roll back to before the onset and lower the learning rate.", setting="learning_rate", scale=0.3),
    ),
)  # fmt: skip


def judge(rows: Rows) -> Judgement:
    """Fires when length has settled beyond its start level while the reward has not risen."""
    length = rows.series("completion_tokens_mean")
    start = rows.baseline("completion_tokens_mean", START).level
    level = rows.smooth("completion_tokens_mean")
    evidence = rows.level("longer", length.values > rows.limit("growth") * start, length.fresh)
    accuracy = rows.change("accuracy_fraction").z
    gain = np.where(np.isnan(accuracy), rows.change("reward_mean").z, accuracy)  # a reward can pay for length itself
    unpaid = gain < rows.limit("gain")
    settled = rows.recent("unpaid", unpaid, length.fresh, width=PATIENCE) == 1
    return Judgement(
        fires=(evidence >= rows.alarm) & (level > rows.limit("growth") * start) & settled,
        holds=(level > 0.8 * rows.limit("growth") * start) & unpaid,
        log_evidence=evidence,
        facts={"times": level / start},
    )
