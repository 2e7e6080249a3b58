"""The sampler does not follow the policy: its log-probs part from the trainer's with every update."""

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

START = 3  # first observations, before updates have added up
GAP = "sampler_logprob_difference_mean"

SIGNATURE = Signature(
    id="STALE_ROLLOUT_WEIGHTS",
    stage="policy",
    severity="critical",
    arm="level",
    requires=(f"{GAP}|sampler_probability_difference_mean|sampler_kl_mean",),
    helps=("staleness_mean", "reward_mean"),
    shows=(GAP, "sampler_probability_difference_mean", "sampler_kl_mean", "sampler_ratio_mean", "reward_mean"),
    scale="log",
    thresholds=(
        Threshold("growth", 10.0, "times the first rows", "numeric noise does not grow like this, missing updates do"),
        Threshold(
            "gap", 0.1, "nats/token", "below it the gap may still be rounding; unsynchronised samplers reach 0.2 to 0.9"
        ),
        Threshold("probability", 0.03, "probability", "the same for probabilities; healthy runs log 0.001 to 0.004"),
        Threshold("divergence", 0.05, "nats/token", "the same for the KL of sampler and trainer"),
        Threshold("known", 0.5, "updates", "a staleness above it is known and another failure"),
        Threshold("gain", 2.0, "standard errors", "reward that rises by more than this is rising on fresh samples"),
    ),
    title="The sampler runs on old weights",
    explanation="The gap between sampler and trainer has grown from {before} to {after} {unit} since step {onset}, "
    "and the reward does not move: new weights do not reach the sampler.",
    record="Log the mean absolute gap between sampler and trainer log-probs as sampler_logprob_difference_mean.",
    remedies=(
        Advice(text="Compare a checksum of one weight matrix in sampler and trainer after an update."),
        Advice(text="With adapters, check that the sampler loads the merged or the newest adapter weights."),
        Advice(text="Drop the sampler's prefix cache and sleep state after each weight update."),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when a gap that began as noise has grown tenfold without a known lag, and the reward has not gained."""
    lagged = rows.smooth("staleness_mean") > rows.limit("known")
    fires, holds = rows.every & False, rows.every & False
    evidence = rows.exact(fires)
    for name, limit in (
        (GAP, rows.limit("gap")),
        ("sampler_probability_difference_mean", rows.limit("probability")),
        ("sampler_kl_mean", rows.limit("divergence")),
    ):
        level, start = rows.smooth(name), rows.baseline(name, START).level
        apart = (level > limit) & (level > rows.limit("growth") * abs(start))
        found = rows.level(name, apart, rows.series(name).fresh)
        fires, holds = fires | ((found >= rows.alarm) & apart), holds | apart
        evidence = evidence.clip(min=found)
    still = ~(rows.change("reward_mean").z > rows.limit("gain"))
    return Judgement(fires=fires & still & ~lagged, holds=holds & ~lagged, log_evidence=evidence)
