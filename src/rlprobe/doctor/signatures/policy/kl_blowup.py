"""The policy escapes its reference: KL settles far above where any useful policy lives, or its estimate explodes."""

from numpy import inf, maximum, nan, where

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.recording.run import BoolArray, FloatArray

START = 5  # first observations that the KL is compared with
WINDOW = 15  # rows that must agree before a level counts as settled
USUAL = 50  # observations whose median a shock is compared with

SIGNATURE = Signature(
    id="KL_BLOWUP",
    stage="policy",
    severity="warning",
    arm="level",
    requires=("kl_mean|reward_with_kl_mean",),
    helps=("reward_mean", "kl_coefficient", "completion_tokens_mean"),
    shows=("kl_mean", "reward_with_kl_mean", "reward_mean", "completion_tokens_mean"),
    scale="log",
    thresholds=(
        Threshold(
            "escaped",
            1.5,
            "nats/token",
            "settled above it the reference gives the average token a quarter of its probability; healthy runs visit "
            "it in at most 12 of 15 rows, and then with a rising reward",
        ),
        Threshold("settled", 0.9, "fraction of the last 15 rows", "rows that must lie above the level"),
        Threshold("back", 0.75, "nats/token", "below it again the policy has come back"),
        Threshold("growth", 1.5, "times starting KL", "less than that was there from the start"),
        Threshold("fewest", 3.0, "shocks", "fewer are an accident whatever their share", low=1.0),
        Threshold("far", 4.0, "nats/token", "above it no reward pays for the distance"),
        Threshold(
            "shock",
            5.0,
            "nats/token",
            "a single row above it has tokens that the policy all but rules out; the largest healthy row has 3.6",
        ),
        Threshold("leap", 10.0, "times the median so far", "a shock stands out of the run's own KL by this much"),
        Threshold(
            "shocks", 0.05, "fraction of rows", "that many shocks are no accident; runs that heal have 0.015", high=1.0
        ),
        Threshold(
            "penalty",
            2.0,
            "times the range and level of the reward",
            "a KL penalty this large inside the reward is what the policy is trained on; healthy runs stay below 0.6",
        ),
        Threshold("gain", 2.0, "standard errors", "reward above its start by more than this pays for the distance"),
    ),
    title="The policy runs away from its reference",
    explanation="The distance to the reference stands at {after} {unit}, from {before} before step {onset}, and the "
    "reward does not pay for it: the policy has left the text that the reference could have written.",
    record="Log the KL to the reference as kl_mean, with its estimator, per token.",
    remedies=(
        Advice(
            text="Restart from the last checkpoint before this step with a lower learning rate.",
            setting="learning_rate",
            scale=0.3,
        ),
        Advice(text="Raise the KL coefficient.", setting="kl_coefficient", suggested="0.01 to 0.05", only_below=0.01),
        Advice(
            text="Take fewer optimizer passes over a rollout.",
            setting="updates_per_rollout",
            suggested="1",
            only_above=1,
        ),
        Advice(text="Clamp the log-ratio before the estimator exponentiates it: single tokens must not rule the mean."),
        Advice(text="Check that sampler and trainer agree on the log-prob of the same tokens."),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when KL has settled out of reach, when its estimate explodes again and again, or when its penalty rules."""
    kl = rows.series("kl_mean")
    unit = _unit(rows)
    start = rows.baseline("kl_mean", START).level
    distance = rows.smooth("kl_mean") / unit
    above = (kl.values > rows.limit("escaped") * unit) & (kl.values > rows.limit("growth") * start)
    settled = rows.recent("settled", above, kl.fresh, width=WINDOW) >= rows.limit("settled")
    gain = rows.change("reward_mean").z
    # A number that may be a sum over the sequence is not far for being large.
    measured = rows.metadata("kl_mean").per != "" or rows.manifest.format == "recording"
    far = (distance > rows.limit("far")) & measured
    unpaid = ~(gain > rows.limit("gain")) | far
    evidence = rows.level("above", above, kl.fresh)
    escaped = (evidence >= rows.alarm) & settled & unpaid
    shock = kl.fresh & (kl.values > rows.limit("shock") * unit)
    shock = shock & (kl.values > rows.limit("leap") * rows.quantile("kl_mean", USUAL, 0.5))
    shocks = rows.count("shocks", shock)
    often = (shocks >= rows.limit("fewest")) & (shocks >= rows.limit("shocks") * rows.observations("kl_mean"))
    ruled = _ruled(rows)
    ruling = rows.level("ruled", ruled, rows.series("reward_with_kl_mean").fresh)
    penalised = ruled & (ruling >= rows.alarm)
    began = rows.streak("shock", shock, kl.fresh, gap=USUAL)
    # Shock upon shock is the end of a ramp that began long before: its onset is fitted, not the first shock's row.
    running = rows.recent("running", shock, kl.fresh, width=int(rows.limit("fewest"))) >= 1.0
    return Judgement(
        fires=escaped | (often & shock) | penalised,
        holds=settled | often | ruled | (distance > rows.limit("back")),
        log_evidence=where(often, inf, maximum(evidence, ruling)),
        critical=(settled & (gain < -rows.limit("gain"))) | far | penalised,
        since=where(often & ~escaped & ~running, began, -1),
    )


def _unit(rows: Rows) -> FloatArray:
    """(n,) what one nat a token is in the logged unit: the mean length where the log sums over the sequence."""
    if rows.metadata("kl_mean").per == "sequence":
        return rows.smooth("completion_tokens_mean")
    return where(rows.every, 1.0, nan)


def _ruled(rows: Rows) -> BoolArray:
    """Where the KL penalty inside the reward dwarfs a reward that it was once small against."""
    plain, reduced = rows.series("reward_mean"), rows.series("reward_with_kl_mean")
    both = plain.fresh & reduced.fresh
    penalty = rows.recent_median("penalty", plain.values - reduced.values, both, width=START)
    scale = rows.highest("reward_mean") - rows.lowest("reward_mean") + abs(rows.smooth("reward_mean", WINDOW))
    before = rows.baseline("reward_mean", START).level - rows.baseline("reward_with_kl_mean", START).level
    return (penalty > rows.limit("penalty") * scale) & (before < scale)
