"""Sampler and trainer give the same tokens different log-probs: the gradient does not belong to the samples."""

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.recording.run import BoolArray, FloatArray

START = 5  # first observations that a slope is measured from
GAP = "sampler_logprob_difference_mean"

SIGNATURE = Signature(
    id="TRAIN_INFER_MISMATCH",
    stage="policy",
    severity="warning",
    arm="level",
    requires=(
        f"{GAP}|sampler_kl_mean|sampler_ratio_mean|effective_sample_fraction|sampler_probability_difference_mean",
    ),
    helps=("sampler_logprob_difference_max", "sampler_probability_correlation"),
    shows=(
        GAP,
        "sampler_kl_mean",
        "sampler_probability_difference_mean",
        "sampler_ratio_mean",
        "effective_sample_fraction",
        "reward_mean",
    ),
    scale="log",
    thresholds=(
        Threshold("gap", 0.05, "nats/token", "mean absolute gap; dense models in bfloat16 have 0.01 to 0.02"),
        Threshold("divergence", 0.01, "nats/token", "KL of sampler and trainer; healthy runs log 0.0001 to 0.001"),
        Threshold("probability", 0.02, "probability", "mean absolute gap; healthy runs log 0.001 to 0.004"),
        Threshold("growth", 3.0, "times the first rows", "a gap that has grown so much grows on"),
        Threshold("least", 0.02, "nats/token", "a gap that grows below it is rounding"),
        Threshold("weight", 2.0, "mean importance ratio", "outside this and its inverse weights are no correction"),
        Threshold(
            "effective", 0.3, "fraction of samples", "fewer effective samples than that carry the update", high=1.0
        ),
        Threshold(
            "share",
            0.1,
            "nats of gap a nat of entropy",
            "a gap above it has not healed where a policy that grows certain makes it small: rounding gives 0.05",
        ),
        Threshold("known", 0.5, "updates", "a staleness above it explains a gap"),
        Threshold("severe", 0.5, "nats/token", "above it the sampler is another policy"),
    ),
    title="Sampler and trainer disagree on log-probs",
    explanation="Sampler and trainer differ on the same tokens: {metric} stands at {after} since step {onset}. The gradient "
    "is taken for another policy than the one that wrote the samples.",
    record="Log the mean absolute gap between sampler and trainer log-probs as sampler_logprob_difference_mean.",
    remedies=(
        Advice(text="Run sampler and trainer in the same number format, with the output layer in 32-bit."),
        Advice(text="Correct with truncated importance weights.", setting="sampler_correction", suggested="true"),
        Advice(text="For mixture-of-experts models replay the sampler's routing in the trainer."),
        Advice(text="Check that the sampler loads the newest weights after each update."),
        Advice(text="Send the sampler's token ids to the trainer instead of re-tokenised text."),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when a gap has settled above what numeric noise gives, or has grown out of its own first rows."""
    gap = rows.smooth(GAP)
    start = rows.baseline(GAP, START).level
    lagged = rows.smooth("staleness_mean") > rows.limit("known")  # older samples differ by right
    grown = (gap > rows.limit("growth") * start) & (gap > rows.limit("least"))
    wide = (gap > rows.limit("gap")) | grown
    bounds: tuple[tuple[str, BoolArray], ...] = (
        (GAP, wide),
        ("sampler_kl_mean", abs(rows.smooth("sampler_kl_mean")) > rows.limit("divergence")),
        (
            "sampler_probability_difference_mean",
            rows.smooth("sampler_probability_difference_mean") > rows.limit("probability"),
        ),
        ("sampler_ratio_mean", _outside(rows.smooth("sampler_ratio_mean"), rows.limit("weight"))),
        ("effective_sample_fraction", rows.smooth("effective_sample_fraction") < rows.limit("effective")),
    )
    fires, holds = rows.every & False, rows.every & False
    evidence = rows.exact(fires)
    for name, beyond in bounds:
        found = rows.level(name, beyond, rows.series(name).fresh)
        fires, holds = fires | ((found >= rows.alarm) & beyond & ~lagged), holds | (beyond & ~lagged)
        evidence = evidence.clip(min=found)
    holds |= (gap > rows.limit("share") * rows.smooth("entropy_mean")) & ~lagged
    return Judgement(fires=fires, holds=holds, log_evidence=evidence, critical=gap > rows.limit("severe"))


def _outside(ratio: FloatArray, bound: float) -> BoolArray:
    beyond: BoolArray = (ratio > bound) | (ratio < 1 / bound)
    return beyond
