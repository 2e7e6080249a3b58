"""Entropy falls while the reward rises: the policy becomes certain of answers that are right."""

from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.rows import Rows
from rlprobe.doctor.silence import mastered

LOWER = 0.7  # of the starting entropy; sound runs of the corpus end at 0.15 to 0.7 of it
LEAST = 0.12  # of the starting entropy; below it exploration is over, whatever the reward
MOVED = 3.0  # standard errors

NORMAL = Normal(
    id="ENTROPY_FALLS_WITH_MASTERY",
    title="Entropy falls as fast as the task is learned",
    worry="Token entropy falls steadily.",
    asks="The reward has risen beyond its noise and has kept its gain, and entropy is above a tenth of its start.",
    explanation=(
        "Entropy went from {before} to {now} nats/token while the mean reward rose from {low} to {high}. Learning makes a "
        "policy certain; a collapse is certainty without the reward."
    ),
    requires=("entropy_mean", "reward_mean"),
    shows=("entropy_mean", "reward_mean"),
    unless=(
        "ENTROPY_COLLAPSE", "REWARD_COLLAPSE", "REWARD_STD_DEATH", "DUPLICATE_COMPLETIONS", "LENGTH_COLLAPSE",
        "REWARD_HACK_LENGTH", "FORMAT_GAMING", "REWARD_OVEROPTIMIZATION", "NO_LEARNING", "KL_BLOWUP", "NUMERIC_NAN",
        "TOOL_USE_COLLAPSE", "EVAL_GAP", "REPETITION_SPIRAL", "REWARD_SCALE_SHIFT", "REWARD_TEXT_MISMATCH",
    ),
    weight=8,
)  # fmt: skip


def judge(rows: Rows) -> Normality:
    """Holds while entropy has fallen, is not exhausted, and the reward has risen and kept its gain."""
    entropy, reward = rows.change("entropy_mean"), rows.change("reward_mean")
    now, start = rows.smooth("entropy_mean"), rows.baseline("entropy_mean", 5).level
    fallen = (entropy.z <= -MOVED) & (now <= LOWER * start) & (now >= LEAST * start)
    return Normality(
        holds=fallen & mastered(rows),
        facts={"before": entropy.early, "now": entropy.late, "low": reward.early, "high": reward.late},
    )
