"""The log-prob of right answers falls although they are rewarded: the update pushes down more than it pulls up."""

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

START = 8  # first rows that the log-prob is compared with: it falls from the first update on
WINDOW = 15  # rows that must agree before a fall counts as settled

SIGNATURE = Signature(
    id="LIKELIHOOD_DISPLACEMENT",
    stage="policy",
    severity="warning",
    arm="level",
    requires=("logprob_positive_mean",),
    helps=("reward_mean", "logprob_negative_mean", "entropy_mean"),
    shows=("logprob_positive_mean", "logprob_negative_mean", "reward_mean", "grad_norm"),
    thresholds=(
        Threshold("fall", 0.4, "nats/token", "below its start: a third of the probability of each token is gone"),
        Threshold(
            "relative", 0.5, "times the starting log-prob", "below its start by this much, whatever the task's entropy"
        ),
        Threshold("settled", 0.8, "fraction of the last 15 rows", "rows that must lie below both", high=1.0),
        Threshold("gain", 2.0, "standard errors", "reward above its start by more than this outweighs the fall"),
    ),
    title="Right answers become less likely",
    explanation="The mean log-prob of rewarded tokens has fallen to {after} nats/token, from {before} before step "
    "{onset}: the update pushes wrong answers down and takes right ones along.",
    record="Log the mean log-prob of samples with positive advantage as logprob_positive_mean.",
    remedies=(
        Advice(text="Leave negative samples whose tokens are already unlikely out of the loss."),
        Advice(text="Add a small supervised loss on right answers."),
        Advice(text="Check the sign of the advantage and that positive samples are not masked."),
        Advice(text="Lower the learning rate.", setting="learning_rate", scale=0.3),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when the log-prob of rewarded tokens has settled below its start and the reward has not gained."""
    right = rows.series("logprob_positive_mean")
    start = rows.baseline("logprob_positive_mean", START).level
    fall = start - right.values
    low = (fall > rows.limit("fall")) & (fall > rows.limit("relative") * abs(start))
    evidence = rows.level("low", low, right.fresh)
    still = rows.recent("still", low, right.fresh, width=WINDOW) > rows.limit("settled")
    unpaid = ~(rows.change("reward_mean").z > rows.limit("gain"))
    lower = start - rows.smooth("logprob_positive_mean", 9) > rows.limit("fall") / 2
    return Judgement(
        fires=(evidence >= rows.alarm) & still & unpaid,
        holds=still | lower,
        log_evidence=evidence,
        since=rows.streak("since", lower, right.fresh, gap=5),
    )
