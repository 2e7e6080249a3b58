"""Wrong answers grow while right ones do not: the loss divides by length and so forgives long mistakes."""

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

# Aggregations that give each token of a sample its full advantage, however long the sample is.
UNBIASED = (
    "token",
    "token-mean",
    "bnpo",
    "dapo",
    "constant",
    "dr_grpo",
    "seq-mean-token-sum",
    "seq-mean-token-sum-norm",
)

SIGNATURE = Signature(
    id="LENGTH_BIAS",
    stage="advantages",
    severity="warning",
    arm="level",
    requires=("completion_tokens_right_mean", "completion_tokens_wrong_mean"),
    helps=("reward_mean", "truncated_fraction"),
    shows=("completion_tokens_wrong_mean", "completion_tokens_right_mean", "truncated_fraction", "reward_mean"),
    minimum_rows=30,
    thresholds=(
        Threshold("growth", 1.4, "of the starting length", "wrong answers that have grown by this much"),
        Threshold(
            "apart",
            1.3,
            "of the starting ratio of wrong to right length",
            "both kinds growing together is longer thought, which is healthy",
        ),
    ),
    title="Wrong answers grow and right ones do not",
    explanation="Completions with a negative advantage are {after} tokens long, {fraction} of the {before} before step {onset}, and right ones have "
    "not followed: dividing the loss by length makes long mistakes cheap.",
    record="Log the mean length of right and of wrong completions as completion_tokens_right_mean and completion_tokens_wrong_mean.",
    remedies=(
        Advice(
            text="Average the loss over all tokens of the batch, or over a constant, instead of over each completion.",
            setting="loss_type",
            suggested="dapo",
        ),
        Advice(
            text="Do not divide advantages by the group's deviation.", setting="advantage_scaling", suggested="none"
        ),
        Advice(text="Pay a little less for length close to the cap."),
    ),
    scale="log",
)


def judge(rows: Rows) -> Judgement:
    """Fires when wrong answers have grown and the ratio of wrong to right length with them, for many rows."""
    wrong, right = rows.series("completion_tokens_wrong_mean"), rows.series("completion_tokens_right_mean")
    wrong_start = rows.baseline("completion_tokens_wrong_mean").level
    right_start = rows.baseline("completion_tokens_right_mean").level
    wrong_now, right_now = (
        rows.smooth("completion_tokens_wrong_mean", 9),
        rows.smooth("completion_tokens_right_mean", 9),
    )
    grown = wrong_now >= rows.limit("growth") * wrong_start
    apart = wrong_now * right_start >= rows.limit("apart") * wrong_start * right_now
    biased = grown & apart & (rows.setting("loss_type") not in UNBIASED)
    evidence = rows.level("biased", biased, wrong.fresh & right.fresh)
    return Judgement(fires=biased & (evidence >= rows.alarm), holds=biased, log_evidence=evidence)
