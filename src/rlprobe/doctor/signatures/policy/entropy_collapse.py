"""Exploration is exhausted before the reward is achieved: token entropy falls to a few percent of its start."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.doctor.silence import answered, silent_groups
from rlprobe.recording.run import BoolArray

START = (
    5  # first observations that the entropy is compared with: a collapse within 15 rows must not be its own baseline
)
STRETCH = 10  # observations of a stretch of the reward

SIGNATURE = Signature(
    id="ENTROPY_COLLAPSE",
    stage="policy",
    severity="warning",
    arm="level",
    requires=("entropy_mean",),
    helps=("reward_mean", "reward_max", "reward_min"),
    shows=("entropy_mean", "reward_mean"),
    scale="log",
    thresholds=(
        Threshold(
            "floor",
            0.12,
            "fraction of starting entropy",
            "below it with a reward that has not risen; solved tasks end at 0.15 to 0.7 in the real runs",
        ),
        Threshold(
            "exhausted",
            0.08,
            "fraction of starting entropy",
            "below it nothing is left to explore, whatever the reward has gained so far",
        ),
        Threshold(
            "achieved",
            0.8,
            "fraction of the reward range seen so far",
            "a mean reward this close to the best sample's has been achieved and may be certain",
        ),
        Threshold(
            "silent",
            0.75,
            "fraction of groups without reward spread",
            "where no sample's best reward is logged: of a reward from 0 to 1 that stands short of it",
            high=1.0,
        ),
        Threshold("gain", 2.0, "standard errors", "reward above its start by less than this has not risen"),
    ),
    title="Entropy collapsed before the reward was achieved",
    explanation="Token entropy is {after} nats/token, {fraction} of the {before} before step {onset}, "
    "while the reward still has something to gain: the policy has stopped trying other answers.",
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
    """Fires when entropy has settled near zero and the reward is flat, or short of what its best samples reach."""
    entropy = rows.series("entropy_mean")
    start = rows.baseline("entropy_mean", START).level
    low = rows.smooth("entropy_mean") < rows.limit("floor") * start
    gone = rows.smooth("entropy_mean") < rows.limit("exhausted") * start
    evidence = rows.level("low", entropy.values < rows.limit("floor") * start, entropy.fresh)
    flat = rows.change("reward_mean").z <= rows.limit("gain")
    best, worst = rows.highest("reward_max"), rows.lowest("reward_min")
    short = rows.smooth("reward_mean") - worst < rows.limit("achieved") * (best - worst)
    blind = rows.observations("reward_mean") >= 1
    short = (short | np.isnan(best - worst) & _stuck(rows)) & ~_rising(rows)
    open_end = ~answered(rows)  # a reward that was put on another scale says nothing of what is still to gain
    fires = (
        (evidence >= rows.alarm) & rows.measured("entropy_mean") & open_end & ((low & flat) | (gone & (short | ~blind)))
    )
    return Judgement(fires=fires, holds=low, log_evidence=evidence)


def _stuck(rows: Rows) -> BoolArray:
    """(n,) without the best sample's reward: a reward from 0 to 1 is short of 1, and most groups have one answer.

    Mastery of such a reward ends near 1; a policy that is certain below it solves some prompts always and others never.
    """
    unit = (rows.lowest("reward_mean") >= 0.0) & (rows.highest("reward_mean") <= 1.0)
    silent = silent_groups(rows)
    certain = rows.recent("silent", silent.values, silent.fresh, width=2 * STRETCH) >= rows.limit("silent")
    apart = rows.smooth("reward_std_batch") > 0  # whole batches of one reward are the matter of other signatures
    stuck: BoolArray = unit & (rows.smooth("reward_mean") < rows.limit("achieved")) & certain & apart
    return stuck


def _rising(rows: Rows) -> BoolArray:
    """Where the reward's newest stretch lies above the one before last by more than its noise."""
    level = rows.mean("reward_mean", STRETCH)
    then = rows.earlier("then", level, rows.series("reward_mean").fresh, lag=2 * STRETCH)
    error = rows.change("reward_mean").noise * (2 / STRETCH) ** 0.5
    rising: BoolArray = level - then > rows.limit("gain") * error
    return rising
