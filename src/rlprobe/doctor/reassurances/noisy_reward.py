"""Single steps jump by more than the whole gain, yet the reward rises: judge it by means over many steps."""

from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.rows import Rows
from rlprobe.doctor.silence import kept_gain

LOUD = 1.0  # of the whole gain: noise of one step from which no pair of steps shows the trend
RISEN = 3.0  # standard errors of late reward above early reward
ROWS = 30  # observations before anything is said

NORMAL = Normal(
    id="NOISY_REWARD",
    title="One step of reward says little in this run",
    worry="The reward jumps up and down from step to step and falls as often as it rises.",
    asks="The mean of the last fifth of the run is above that of the first fifth by at least three standard errors.",
    explanation=(
        "One step's reward scatters by {noise}; the whole gain so far, from {low} to {high}, is {gain}. The rise is real "
        "over many steps and invisible between two of them. More samples a step would make the curve quieter."
    ),
    requires=("reward_mean",),
    shows=("reward_mean",),
    unless=(
        "REWARD_COLLAPSE", "NO_LEARNING", "REWARD_NOT_FINITE", "NUMERIC_NAN", "REWARD_HACK_LENGTH", "FORMAT_GAMING",
        "REWARD_OVEROPTIMIZATION", "RESUME_DISCONTINUITY", "REWARD_SCALE_SHIFT", "DEGENERATE_GROUPS", "GROUPING_BUG",
        "TRUNCATION_STARVE", "EVAL_GAP",
    ),
    weight=2,
)  # fmt: skip


def judge(rows: Rows) -> Normality:
    """Holds while one step's noise is as large as the whole gain and the gain is still beyond doubt."""
    reward = rows.change("reward_mean", minimum=ROWS)
    gain = reward.late - reward.early
    return Normality(
        holds=(reward.z >= RISEN) & (reward.noise >= LOUD * gain) & kept_gain(rows),
        facts={"noise": reward.noise, "low": reward.early, "high": reward.late, "gain": gain},
    )
