"""The importance ratio is not one on the first on-policy pass: old and new log-probs of the same weights differ."""

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

SIGNATURE = Signature(
    id="RATIO_NOT_ONE",
    stage="policy",
    severity="warning",
    arm="exact",
    requires=("ratio_first_pass_deviation",),
    helps=("ratio_mean", "ratio_max", "staleness_mean"),
    shows=("ratio_first_pass_deviation", "ratio_mean", "ratio_max"),
    minimum_rows=3,
    thresholds=(
        Threshold(
            "deviation",
            0.1,
            "largest |ratio - 1|",
            "the same weights score the same token twice; bfloat16 stays within 0.003 on the mean and 0.05 on a token",
        ),
        Threshold("rows", 3.0, "rows in a row", "one alone is a token at the edge of the number format"),
        Threshold("known", 0.5, "updates", "a staleness above it makes other ratios right"),
    ),
    title="The ratio is not one on the first pass",
    explanation="Before any update the same weights give the same tokens other log-probs: |ratio - 1| is up to {after} "
    "since step {onset}. Clipping and importance weights act on noise.",
    record="Log the largest |ratio - 1| of the first pass over a rollout as ratio_first_pass_deviation.",
    remedies=(
        Advice(text="Turn dropout off in the pass that is trained."),
        Advice(text="Compute old and new log-probs with the same code, temperature, padding side and number format."),
        Advice(text="Recompute old log-probs in the trainer instead of taking the sampler's."),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when several rows in a row deviate although no lag is known."""
    deviation = rows.series("ratio_first_pass_deviation")
    lagged = rows.smooth("staleness_mean") > rows.limit("known")
    off = (deviation.values > rows.limit("deviation")) & ~lagged
    since = rows.streak("off", off, deviation.fresh, gap=1)
    fires = (since >= 0) & (rows.index - since + 1 >= rows.limit("rows"))
    return Judgement(fires=fires, holds=since >= 0, log_evidence=rows.exact(fires), since=since)
