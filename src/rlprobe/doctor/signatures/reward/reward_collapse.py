"""The reward falls from its best back to where it began, and stays down."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Calm, Judgement, Signature, Threshold
from rlprobe.doctor.stillness import reward_alone

STANDING = 13  # rows in which a fall must be there again and again
SIDE = 5  # rows after a sudden fall before it is told
LATCH = 60  # rows for which the evidence of a jump waits for the reward to have lost enough

SIGNATURE = Signature(
    id="REWARD_COLLAPSE",
    stage="reward",
    severity="critical",
    arm="jump",
    requires=("reward_mean",),
    helps=("kl_mean", "entropy_mean", "grad_norm", "completion_tokens_mean"),
    shows=("reward_mean", "kl_mean", "entropy_mean", "grad_norm", "completion_tokens_mean"),
    minimum_rows=24,
    thresholds=(
        Threshold(
            "fall",
            6.0,
            "standard errors",
            "between the best block of rows and the newest; the deepest dip of a healthy public run that lost its gain is 4",
        ),
        Threshold(
            "lost",
            0.7,
            "fraction of the gain",
            "of what the reward had gained at its best; dips of healthy public runs that heal lose half",
        ),
        Threshold(
            "size",
            1.5,
            "standard deviations of one row",
            "smaller falls are long-drawn drifts of a noisy reward",
        ),
        Threshold(
            "stands", 0.6, "fraction of the last 13 rows", "in which the fall must be there; noise dips come and go"
        ),
        Threshold(
            "rows", 120, "rows", "a noisy reward wanders this far in fewer, so a metric of the policy must move as well"
        ),
    ),
    aliases=("REWARD_CRASH", "LATE_COLLAPSE"),
    title="Reward collapsed",
    explanation="Reward held {best} at its best and now holds {last}, where it began or below: what was learned is gone.",
    calm=Calm(
        "Reward fell while the policy stood still",
        "Reward held {best} at its best and now holds {last}, and neither entropy, length, KL nor gradients moved before or "
        "with the fall: the prompts or their scoring changed near step {onset}, not the policy. If nothing was switched "
        "there on purpose, compare data, judge and reward weights before and after.",
    ),
    record="Log the mean reward of every step as reward_mean.",
    remedies=(
        Advice(text="Stop, and go back to the last checkpoint before the onset: what follows it does not come back."),
        Advice(text="Lower the learning rate.", setting="learning_rate", scale=0.3),
        Advice(
            text="Keep the policy nearer to its reference.",
            setting="kl_coefficient",
            suggested="0.01-0.05",
            only_below=0.01,
        ),
        Advice(text="Clip gradients harder.", setting="max_grad_norm", suggested="0.2", only_above=0.2),
        Advice(
            text="Take fewer optimizer passes over a rollout.",
            setting="updates_per_rollout",
            suggested="1",
            only_above=1,
        ),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when the newest block has lost most of the gain, or when a sudden fall has; both beyond the noise.

    Where nothing of the policy moved before or with the fall, the prompts or their scoring changed.
    """
    reward = rows.series("reward_mean")
    fall = rows.fall("reward_mean")
    drop = fall.best - fall.last
    gain = np.maximum(fall.best - fall.start, 0.0)
    deep = (fall.z >= rows.limit("fall")) & (drop >= rows.limit("size") * fall.noise)
    deep &= drop >= rows.limit("lost") * gain
    stands = rows.recent("stands", deep, reward.fresh, width=STANDING) >= rows.limit("stands")

    smooth = rows.smooth("reward_mean")
    best, start = rows.carried_max("best", smooth), rows.baseline("reward_mean", count=5).level
    least = 2 * rows.limit("size") * fall.noise
    down = best - smooth >= np.maximum(rows.limit("lost") * (best - start), least)
    jump = rows.jump("down", -reward.values, reward.fresh)
    sudden = rows.latch("sudden", jump >= rows.alarm, width=LATCH) & down & (fall.z >= rows.limit("fall") / 2)
    sudden = rows.recent("settled", sudden, reward.fresh, width=SIDE) >= 1.0  # a step is known by the rows after it

    alone = reward_alone(rows)
    steps, still = alone.steps, alone.still
    level = smooth + steps.total  # where the reward would be on the prompts and the scoring that it began with
    kept = rows.carried_max("level", level) - level < np.maximum(rows.limit("lost") * (best - start), least)
    unexplained = (stands | sudden) & ~still & ~(steps.holds & kept)
    still &= ~rows.ever("damaged", unexplained)  # what has come to rest after the damage does not undo it
    short = rows.observations("reward_mean") < rows.limit("rows")
    top, bottom = rows.carried_max("top", fall.best), rows.carried_min("bottom", fall.last)
    switched = rows.latch("switched", rows.events("resume", "curriculum"), width=20)
    evidence = rows.level("deep", deep, reward.fresh)
    return Judgement(
        fires=(stands | sudden) & ~switched & ~(short & still),
        # Its own best must not slide away from under a fall that lasts.
        holds=fall.last <= bottom + rows.limit("lost") * (top - bottom),
        log_evidence=np.maximum(evidence, jump),
        explained=still | steps.holds & kept,
        facts={"best": fall.best, "last": fall.last},
    )
