"""The learning rate is not what a schedule would give, or its steps are far larger than RL stands."""

from numpy import maximum, where

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

WARM_UP = 10  # observations in which a schedule may rise by any factor

SIGNATURE = Signature(
    id="LR_ANOMALY",
    stage="optimization",
    severity="warning",
    arm="exact",
    requires=("learning_rate|weight_update_ratio",),
    helps=("weight_update_ratio", "kl_mean"),
    shows=("learning_rate", "weight_update_ratio", "reward_mean", "kl_mean"),
    scale="log",
    lasting=True,  # what a step too large has overwritten does not come back with the schedule
    minimum_rows=10,
    thresholds=(
        Threshold("jump", 3.0, "times the highest rate so far", "no schedule rises like this after its warm-up"),
        Threshold("rows", 10.0, "rows in a row", "a learning rate of zero for longer is no warm-up"),
        Threshold("moved", 1e-3, "nats/token", "a KL that has risen above it proves that the rate was not zero"),
        Threshold(
            "step",
            0.02,
            "relative weight change of one update",
            "fifty such updates replace the weights; healthy runs have 0.00001 to 0.002",
        ),
        Threshold("steps", 5.0, "rows in a row", "fewer are a start from small weights"),
    ),
    aliases=("LR_MISUSE",),
    title="The learning rate is wrong",
    explanation="From step {onset} on the learning rate ({after}, before {before}) is not what a schedule gives, or "
    "its steps replace the weights instead of moving them.",
    record="Log learning_rate every step, and weight_update_ratio if the trainer can compute it.",
    remedies=(
        Advice(text="Lower the learning rate.", setting="learning_rate", scale=0.1),
        Advice(text="Check that a resumed run restores the scheduler and counts its steps once."),
        Advice(
            text="Check the planned number of steps: a schedule that ends early leaves a rate of zero.",
            setting="max_steps",
        ),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires on a rate far above any before, on a rate of zero that stays, and on updates that replace the weights."""
    rate, update = rows.series("learning_rate"), rows.series("weight_update_ratio")
    before = rows.earlier("highest", rows.highest("learning_rate"), rate.fresh, lag=1)
    late = rows.observations("learning_rate") > WARM_UP
    jumped = rate.fresh & late & (before > 0) & (rate.values > rows.limit("jump") * before)
    raised = rows.latch("raised", jumped, width=int(rows.limit("rows")))
    idle = rows.streak("idle", rate.values == 0, rate.fresh, gap=0)
    # A table that rounds to six decimals prints small rates as zero: then the policy moves nevertheless.
    moving = (update.values > 0) | (~(update.values == 0) & (rows.highest("kl_mean") > rows.limit("moved")))
    resting = (idle >= 0) & (rows.index - idle + 1 >= rows.limit("rows")) & ~moving
    large = rows.streak("large", update.values > rows.limit("step"), update.fresh, gap=1)
    leaping = (large >= 0) & (rows.index - large + 1 >= rows.limit("steps"))
    fires = jumped | resting | leaping
    since = where(jumped, rows.index, maximum(where(resting, idle, -1), where(leaping, large, -1)))
    return Judgement(
        fires=fires,
        holds=raised | (idle >= 0) | (large >= 0),
        log_evidence=rows.exact(fires),
        since=since,
    )
