"""The proxy rises while the true score does not: the policy learns what the reward function likes, not the task."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.recording.run import BoolArray

STANDING = 5  # rows in a row; format is learned before the task, and a gap of a few rows is that

SIGNATURE = Signature(
    id="REWARD_OVEROPTIMIZATION",
    stage="reward",
    severity="warning",
    arm="trend",
    requires=("true_reward_mean|accuracy_fraction", "reward_mean"),
    helps=("reward_component_mean/", "kl_mean", "entropy_mean"),
    shows=("reward_mean", "true_reward_mean", "accuracy_fraction", "kl_mean", "entropy_mean"),
    thresholds=(
        Threshold(
            "rise",
            5.0,
            "standard errors",
            "late proxy above early proxy by this much has risen; 28 and more in the public reward-hacking runs",
        ),
        Threshold(
            "share",
            0.1,
            "fraction of the proxy's gain",
            "a true score that gains less is left behind; the public reward-hacking runs gain 0.01",
        ),
        Threshold(
            "loss",
            4.0,
            "standard errors",
            "late true score below early true score by this much has fallen, on whatever scale",
        ),
        Threshold("size", 0.05, "of a scale from 0 to 1", "smaller gains of the proxy are not compared", high=1.0),
    ),
    aliases=("REWARD_HACK_OTHER",),
    title="The proxy reward rises without the true score",
    explanation="The reward gained {gain} since its start and the true score {truth}: what is optimised is not what is wanted.",
    record="Log the score that the reward stands for, on the same samples, as true_reward_mean.",
    remedies=(
        Advice(text="Read the best-paid samples of the last steps and name what the reward function pays for."),
        Advice(text="Stop at the step where the true score was best; later checkpoints are worse."),
        Advice(text="Put the true score, or a check that the trick fails, into the reward."),
        Advice(
            text="Keep the policy nearer to its reference.",
            setting="kl_coefficient",
            suggested="0.01-0.05",
            only_below=0.01,
        ),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when the proxy has risen beyond its noise and the true score has gained next to nothing, or has fallen."""
    proxy, truth, right = (rows.change(name) for name in ("reward_mean", "true_reward_mean", "accuracy_fraction"))
    # Where no true score is logged, right answers stand for it: of them only a fall is beyond doubt.
    told = rows.observations("true_reward_mean") >= 1
    score, answers = rows.series("true_reward_mean"), rows.series("accuracy_fraction")
    fresh = np.where(told, score.fresh, answers.fresh)
    risen, gain, gained = proxy.z >= rows.limit("rise"), proxy.late - proxy.early, truth.late - truth.early
    comparable = _unit(rows, "reward_mean") & _unit(rows, "true_reward_mean")
    left = comparable & (gain >= rows.limit("size")) & (gained < rows.limit("share") * gain)
    # With the samples at hand, signatures that know the mechanism (length, format) name the trick.
    blind = ~(rows.observations("length_reward_correlation") >= 1)
    fallen = np.where(told, truth.z, np.where(blind, right.z, np.nan)) <= -rows.limit("loss")
    apart = risen & (left | fallen)
    stands = rows.recent("stands", apart, fresh, width=STANDING) >= 1.0
    return Judgement(
        fires=stands,
        holds=apart,
        log_evidence=rows.level("apart", apart, fresh),
        critical=risen & fallen,
        facts={"gain": gain, "truth": np.where(told, gained, right.late - right.early)},
    )


def _unit(rows: Rows, name: str) -> BoolArray:
    """(n,) whether a metric has stayed between 0 and 1, so that its gains can be compared with another's."""
    return (rows.lowest(name) >= 0.0) & (rows.highest(name) <= 1.0)
