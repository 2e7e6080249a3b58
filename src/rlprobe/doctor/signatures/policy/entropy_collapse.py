"""Exploration is exhausted before the reward is achieved: token entropy falls to a few percent of its start."""

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

SIGNATURE = Signature(
    id="ENTROPY_COLLAPSE",
    stage="policy",
    severity="warning",
    arm="level",
    requires=("entropy_mean",),
    helps=("reward_mean",),
    shows=("entropy_mean", "reward_mean"),
    scale="log",
    thresholds=(
        Threshold("floor", 0.06, "fraction of baseline entropy", "below it nothing is left to explore"),
        Threshold("gain", 2.0, "standard errors", "reward above its start by less than this has not been achieved"),
    ),
    title="Entropy collapsed before the reward was achieved",
    explanation="Token entropy is {after} nats/token, {fraction} of the {before} before step {onset}, and the reward no longer grows.",
    record="Log the mean token entropy of the policy as entropy_mean.",
    remedies=(
        Advice(
            text="Raise the upper clip range so that rare tokens can gain probability.",
            setting="clip_high",
            suggested="0.28",
        ),
        Advice(text="Lower the learning rate.", setting="learning_rate", scale=0.3),
        Advice(text="Sample at a higher temperature.", setting="temperature", suggested="1.0", only_below=1.0),
        Advice(
            text="Take fewer optimizer passes over a rollout.",
            setting="updates_per_rollout",
            suggested="1",
            only_above=1,
        ),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when entropy has settled below the floor while the reward is not above its start."""
    entropy = rows.series("entropy_mean")
    exhausted = entropy.values < rows.limit("floor") * rows.baseline("entropy_mean").level
    evidence = rows.level("exhausted", exhausted, entropy.fresh)
    low = rows.smooth("entropy_mean") < rows.limit("floor") * rows.baseline("entropy_mean").level
    achieved = rows.change("reward_mean").z > rows.limit("gain")
    fires = (evidence >= rows.alarm) & low & rows.measured("entropy_mean") & ~achieved
    return Judgement(fires=fires, holds=low, log_evidence=evidence)
