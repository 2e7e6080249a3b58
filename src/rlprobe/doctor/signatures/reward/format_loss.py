"""The policy loses the format that the reward needs: right answers score nothing because they cannot be read."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

STANDING = 13  # rows in which the loss must be there again and again
START = 5  # rows whose median is the format that the policy came with

SIGNATURE = Signature(
    id="FORMAT_LOSS",
    stage="reward",
    severity="warning",
    arm="jump",
    requires=("format_fraction",),
    helps=("reward_mean", "accuracy_fraction", "completion_tokens_mean"),
    shows=("format_fraction", "reward_mean", "accuracy_fraction"),
    minimum_rows=24,
    thresholds=(
        Threshold("fall", 6.0, "standard errors", "between the best block of rows and the newest; noise reaches 4"),
        Threshold("lost", 0.3, "fraction of completions", "that had the format and no longer have it", high=1.0),
        Threshold("held", 0.3, "fraction of completions", "the format must have been there to be lost", high=1.0),
        Threshold(
            "gone",
            0.2,
            "of the starting fraction",
            "below it next to nothing is left of a format that the policy came with",
            high=1.0,
        ),
        Threshold("stands", 0.6, "fraction of the last 13 rows", "in which the loss must be there", high=1.0),
    ),
    title="The format was lost",
    explanation="{best} % of the completions had the wanted format at best and {last} % have it now: the rest score nothing, right or wrong.",
    record="Log the fraction of completions with the wanted format as format_fraction.",
    remedies=(
        Advice(text="Read completions around the onset and see which part of the format went first."),
        Advice(text="Pay the format, a little, in every reward; a reward that ignores it lets it drift away."),
        Advice(
            text="Go back to a checkpoint from before the onset with a lower learning rate.",
            setting="learning_rate",
            scale=0.3,
        ),
        Advice(
            text="Keep the policy nearer to its reference.",
            setting="kl_coefficient",
            suggested="0.01-0.05",
            only_below=0.01,
        ),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when the newest block of rows has the format much more seldom than the best one, or lost what it began with.

    The second is for a loss in the first rows, which would be counted as their noise.
    """
    form, fall = rows.series("format_fraction"), rows.fall("format_fraction")
    lost = (fall.best >= rows.limit("held")) & (fall.best - fall.last >= np.minimum(rows.limit("lost"), fall.best / 2))
    deep = lost & (fall.z >= rows.limit("fall"))
    evidence = rows.level("deep", deep, form.fresh)
    stands = rows.recent("stands", deep, form.fresh, width=STANDING) >= rows.limit("stands")
    start, now = rows.baseline("format_fraction", START).level, rows.smooth("format_fraction", STANDING)
    gone = (start >= rows.limit("held")) & (form.values < rows.limit("gone") * start)
    vanished = rows.level("gone", gone, form.fresh)
    left = gone & (vanished >= rows.alarm) & (now < rows.limit("gone") * start)
    best = rows.carried_max("best", np.fmax(fall.best, start))
    missing = rows.smooth("format_fraction") < best - rows.limit("lost") / 2
    return Judgement(
        fires=stands | left,
        holds=missing,
        log_evidence=np.maximum(evidence, vanished),
        since=rows.streak("since", missing, form.fresh, gap=5),
        facts={"best": 100 * best, "last": 100 * np.where(left, now, fall.last)},
    )
