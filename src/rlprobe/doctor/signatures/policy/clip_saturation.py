"""Most of the gradient is clipped away: ratios lie far outside the range in which an update is trusted."""

from numpy import isnan, where

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.recording.run import BoolArray

WARM_UP = 10  # observations of the clip fraction in which a healthy multi-epoch run still clips a quarter
WINDOW = 15  # rows that a level must hold in

SIGNATURE = Signature(
    id="CLIP_SATURATION",
    stage="policy",
    severity="warning",
    arm="level",
    requires=("clip_fraction|ratio_max|ratio_mean",),
    helps=("clip_fraction_low", "clip_fraction_high", "learning_rate", "reward_mean"),
    shows=("clip_fraction", "ratio_max", "ratio_mean", "reward_mean"),
    thresholds=(
        Threshold(
            "gain",
            3.0,
            "standard errors",
            "where the clip range is unknown, a reward that rose by more says that clipping by design (GSPO) does no harm",
        ),
        Threshold(
            "fraction",
            0.3,
            "fraction of tokens",
            "settled above it, half of what can be clipped is; healthy runs fall below 0.06 within 10 rows",
            high=1.0,
        ),
        Threshold(
            "ratio",
            20.0,
            "largest importance ratio",
            "settled above it updates leave the trust region; healthy runs fall from 5.5 to 1.4, others stay below 14",
        ),
        Threshold("cap", 3.0, "largest importance ratio", "stuck at one value above it, the ratio is at a bound"),
        Threshold(
            "mean", 2.0, "mean importance ratio", "settled above it (or below its inverse) samples are off-policy"
        ),
        Threshold(
            "narrow", 0.01, "clip range", "below it ratios are a sequence's, and clipping most of them is normal"
        ),
    ),
    title="Importance ratios are far outside the clip range",
    explanation="Since step {onset} the clipped fraction, or the importance ratio, is at {after}: updates leave the "
    "range in which the samples say anything about them.",
    record="Log the clipped fraction as clip_fraction and the largest importance ratio as ratio_max.",
    remedies=(
        Advice(
            text="Take fewer optimizer passes over a rollout.",
            setting="updates_per_rollout",
            suggested="1",
            only_above=1,
        ),
        Advice(text="Lower the learning rate.", setting="learning_rate", scale=0.3),
        Advice(text="Recompute old log-probs with the trainer's own weights before the first pass."),
        Advice(text="Refresh the samples before their policy is this old."),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when a clip fraction or an importance ratio has settled outside what a trusted update shows."""
    clip, top, mean = rows.series("clip_fraction"), rows.series("ratio_max"), rows.series("ratio_mean")
    by_token = str(rows.setting("loss_type")).startswith("token")
    broad = by_token or not rows.number("clip_high", 1.0) < rows.limit("narrow")
    unknown = rows.setting("clip_high") is None and rows.setting("clip_low") is None
    gain = rows.change("reward_mean").z
    early = isnan(gain) & (rows.observations("reward_mean") > 0)  # too few rewards to see whether they rise
    learns = unknown & ((gain > rows.limit("gain")) | early)
    settled = rows.observations("clip_fraction") > WARM_UP
    clipped = (clip.values > rows.limit("fraction")) & settled & broad & ~learns
    # A ratio that had been large overflows; one that had been moderate is poisoned, which is another failure.
    overflow = (rows.nonfinite("ratio_max") > 0) & (rows.highest("ratio_max") > rows.limit("cap"))
    beyond = overflow | (top.values > rows.limit("ratio")) | _stuck(rows)
    apart = (mean.values > rows.limit("mean")) | (mean.values < 1 / rows.limit("mean"))
    seen = top.fresh | overflow
    evidence = rows.level("clipped", clipped, clip.fresh)
    evidence = evidence.clip(min=rows.level("beyond", beyond, seen)).clip(min=rows.level("apart", apart, mean.fresh))
    still = (
        (rows.recent("clip", clipped, clip.fresh, width=WINDOW) > 0.5)
        | (rows.recent("top", beyond, seen, width=WINDOW) > 0.5)
        | (rows.recent("mean", apart, mean.fresh, width=WINDOW) > 0.5)
    )
    began = rows.streak("began", clipped | beyond | apart, clip.fresh | seen | mean.fresh, gap=5)
    return Judgement(
        fires=(evidence >= rows.alarm) & still,
        holds=still,
        log_evidence=evidence,
        since=where(began < WARM_UP, began, -1),
    )


def _stuck(rows: Rows) -> BoolArray:
    """Rows whose largest ratio is exactly the largest of an earlier row: a bound, not a measurement."""
    top = rows.series("ratio_max")
    highest = rows.highest("ratio_max")
    earlier = rows.earlier("highest", highest, top.fresh, lag=1)
    stuck: BoolArray = (top.values == highest) & (highest == earlier) & (highest >= rows.limit("cap"))
    return stuck
