"""Sampling settings are missing from the scored distribution: KL is negative, or the ratio is off by a constant."""

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.recording.run import BoolArray

WINDOW = 15  # rows in which a mean ratio of the sampler must stay off: its noise is that of rare tokens

SIGNATURE = Signature(
    id="DECODE_MISMATCH",
    stage="policy",
    severity="warning",
    arm="level",
    requires=("kl_mean|ratio_mean|sampler_ratio_mean",),
    helps=("kl_coefficient",),
    shows=("kl_mean", "ratio_mean", "sampler_ratio_mean", "reward_mean"),
    thresholds=(
        Threshold("impossible", 1e-3, "nats/token", "k2 and k3 cannot be negative; rounding stays above minus this"),
        Threshold(
            "negative",
            0.05,
            "nats/token",
            "a KL of policy and reference that settles below minus this is no noise: the samples are not the policy's",
        ),
        Threshold(
            "ratio", 0.05, "distance from one", "mean ratio of a single pass; rounding and dropout stay within 0.03"
        ),
    ),
    aliases=("TRUNCATED_SUPPORT",),
    title="Samples come from another distribution than is scored",
    explanation="KL or ratio cannot have this value for samples of the scored policy: {after} {unit} since step "
    "{onset}. Temperature, top-k, top-p or a ban on tokens acts in the sampler only.",
    record="Log kl_mean with its estimator and ratio_mean of the first pass.",
    remedies=(
        Advice(text="Divide the logits by the sampling temperature when log-probs are scored.", setting="temperature"),
        Advice(text="Turn top-k off while training.", setting="top_k", suggested="0", only_above=0),
        Advice(text="Turn top-p off while training.", setting="top_p", suggested="1.0", only_below=1.0),
        Advice(text="Remove minimum length, repetition penalty and n-gram bans from the sampler."),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when KL has settled below what its estimator can give, or a single pass's mean ratio away from one."""
    kl, about = rows.series("kl_mean"), rows.metadata("kl_mean")
    unit = rows.smooth("completion_tokens_mean") if about.per == "sequence" else 1.0
    # TRL's RLOO logs the signed estimator under the key of the other one.
    positive = about.estimator in ("k2", "k3") and rows.manifest.algorithm != "rloo"
    bound = rows.limit("impossible") if positive else rows.limit("negative")
    # Of an unknown estimator, and against a teacher, the sign is a convention and no evidence.
    told = about.estimator != "" and "teacher" not in about.note
    below = (kl.values < -bound * unit) & told
    negative = rows.level("negative", below, kl.fresh)
    single = rows.number("updates_per_rollout", 2.0) <= 1  # later passes move the ratio by themselves
    ratio, sampled = rows.series("ratio_mean"), rows.series("sampler_ratio_mean")
    off = (abs(ratio.values - 1) > rows.limit("ratio")) & single
    cut = sampled.fresh & (sampled.values < 1 - rows.limit("ratio"))
    moved = rows.level("ratio", off, ratio.fresh)
    lost = rows.level("cut", cut & _exact_sampler(rows), sampled.fresh)
    still = (rows.recent("still", below, kl.fresh, width=5) > 0.5) | (
        rows.recent("off", off, ratio.fresh, width=5) > 0.5
    )
    still = still | (rows.recent("still cut", cut, sampled.fresh, width=WINDOW) > 0.8)
    # A sharper policy loses less of its mass to the filter: the ratio nears one and the mismatch stays.
    nearly = (abs(rows.smooth("ratio_mean") - 1) > rows.limit("ratio") / 3) & single
    evidence = negative.clip(min=moved).clip(min=lost)
    return Judgement(fires=(evidence >= rows.alarm) & still, holds=still | nearly, log_evidence=evidence)


def _exact_sampler(rows: Rows) -> BoolArray:
    """Where the gap of sampler and trainer is too small to explain a mean ratio below one."""
    close: BoolArray = rows.smooth("sampler_logprob_difference_mean") < rows.limit("ratio")
    return close
