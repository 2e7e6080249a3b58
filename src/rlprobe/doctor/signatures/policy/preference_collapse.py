"""Preference training: margins grow while the chosen answers themselves become unlikely."""

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.doctor.silence import RISEN
from rlprobe.recording.run import BoolArray, FloatArray

STRETCH = 15  # observations of a stretch of them
START = 5  # first observations of the chosen answers' log-prob

SIGNATURE = Signature(
    id="PREFERENCE_COLLAPSE",
    stage="policy",
    severity="warning",
    arm="level",
    requires=("chosen_logprob_mean",),
    helps=("chosen_reward_mean", "preference_margin_mean", "preference_accuracy_fraction"),
    shows=("chosen_logprob_mean", "chosen_reward_mean", "preference_margin_mean", "preference_accuracy_fraction"),
    thresholds=(
        Threshold(
            "fall",
            2.0,
            "times the starting log-prob",
            "chosen answers this much less likely are no longer written; public runs fall by at most 1.4",
        ),
        Threshold(
            "slow",
            1.5,
            "times the starting log-prob",
            "chosen answers this much less likely that still fall while nothing is left to order are on their way out",
        ),
        Threshold("falling", 6.0, "standard errors", "between the best block of rows and the newest, for a slow fall"),
        Threshold(
            "saturated",
            0.95,
            "fraction of pairs",
            "above it the preferences are learned and margins only grow",
            high=1.0,
        ),
    ),
    title="Chosen answers become unlikely",
    explanation="The log-prob of chosen answers has fallen to {after}, from {before} before step {onset}, while the "
    "pairs are told apart ever more widely: the margin grows by making both answers unlikely.",
    record="Log chosen_logprob_mean and preference_accuracy_fraction.",
    remedies=(
        Advice(text="Stop at the step where the chosen log-prob begins to fall: preferences are learned by then."),
        Advice(
            text="Raise beta, which holds the policy at its reference.",
            setting="kl_coefficient",
            suggested="0.1 to 0.5",
        ),
        Advice(text="Lower the learning rate.", setting="learning_rate", scale=0.1),
        Advice(text="Add a supervised loss on the chosen answers."),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when chosen answers have settled far below their start while the pairs are told apart."""
    chosen = rows.series("chosen_logprob_mean")
    start = rows.baseline("chosen_logprob_mean", START).level
    low = chosen.values < rows.limit("fall") * start  # log-probs are negative
    evidence = rows.level("low", low, chosen.fresh)
    still = rows.recent("still", low, chosen.fresh, width=5) > 0.5
    accuracy = rows.smooth("preference_accuracy_fraction")
    apart = rows.change("preference_margin_mean").z >= RISEN
    learned = ~(accuracy < rows.limit("saturated")) | apart
    sinking = ~(rows.smooth("chosen_reward_mean") >= 0)
    slow = _slow(rows, start) & ~(accuracy < rows.limit("saturated"))
    return Judgement(
        fires=((evidence >= rows.alarm) & still & learned | slow) & sinking,
        holds=still | slow,
        log_evidence=evidence,
    )


def _slow(rows: Rows, start: FloatArray) -> BoolArray:
    """(n,) whether chosen answers have fallen by degrees, are lower than ever and less likely than they began."""
    fall, level = rows.fall("chosen_logprob_mean"), rows.mean("chosen_logprob_mean", STRETCH)
    then = rows.earlier("then", level, rows.series("chosen_logprob_mean").fresh, lag=2 * STRETCH)
    low = (level < rows.limit("slow") * start) & (level < then)
    slow: BoolArray = low & (fall.z >= rows.limit("falling")) & (fall.last < fall.best)
    return slow
