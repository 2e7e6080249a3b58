"""Completions loop: most of their text is text that they already hold."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

SIGNATURE = Signature(
    id="REPETITION_SPIRAL",
    stage="generation",
    severity="warning",
    arm="level",
    requires=("repetition_fraction",),
    helps=("reward_mean", "completion_tokens_mean"),
    shows=("repetition_fraction", "completion_tokens_mean", "reward_mean"),
    thresholds=(
        Threshold(
            "floor", 0.25, "fraction of 4-grams seen before",
            "below it text is no loop; long chains of thought repeat 0.1 to 0.2 of theirs", 0, 1,
        ),
        Threshold("times", 3.0, "times the start level", "code and tables repeat themselves from the start; a loop is more", 1),
        Threshold(
            "mostly", 0.6, "fraction of 4-grams seen before",
            "beyond it, and half way from the start level to one, no rising reward excuses it", 0, 1,
        ),
        Threshold("gain", 3.0, "standard errors", "reward above its start by more than this excuses moderate repetition"),
    ),
    title="Completions repeat themselves",
    explanation="Of the 4-grams of a completion {repeated} % occurred in it before; at the start of training it was {start} %.",
    record="Log the fraction of 4-grams of a completion that occurred in it before as repetition_fraction.",
    remedies=(
        Advice(text="Read the most repetitive completions and their rewards: if loops are paid, mend the reward first."),
        Advice(text="Stop generation at a loop and score it as cut, so that its tail does not fill the loss."),
        Advice(text="Raise the KL coefficient.", setting="kl_coefficient", scale=3.0),
        Advice(text="Sample at a temperature of one; a low one makes loops likelier.", setting="temperature", suggested="1.0", only_below=1.0),
        Advice(text="Roll back to before the onset and lower the learning rate.", setting="learning_rate", scale=0.3),
    ),
)  # fmt: skip


def judge(rows: Rows) -> Judgement:
    """Fires when repetition has settled far above its start, more than a rising reward could excuse."""
    repeated, level = rows.series("repetition_fraction"), rows.smooth("repetition_fraction")
    start = rows.baseline("repetition_fraction", 10).level
    bar = np.maximum(rows.limit("floor"), np.minimum(rows.limit("times") * start, (1 + start) / 2))
    mostly = np.maximum(rows.limit("mostly"), (1 + start) / 2)
    rose = rows.change("reward_mean").z > rows.limit("gain")
    evidence = rows.level("repeats", repeated.values > bar, repeated.fresh)
    looping = (level > bar) & (~rose | (level > mostly))
    return Judgement(
        fires=(evidence >= rows.alarm) & looping,
        holds=(level > 0.75 * bar) & (~rose | (level > 0.75 * mostly)),
        critical=(level > mostly) & (rows.change("reward_mean").z < -rows.limit("gain")),
        log_evidence=evidence,
        facts={"repeated": 100 * level, "start": 100 * start},
    )
