"""Entropy climbs away from where it was and buys nothing: the text turns to noise."""

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.doctor.silence import kept_gain

START = 5  # first observations that the entropy is compared with
RISEN = 4.0  # standard errors of late entropy above early entropy that noise gives in no run, looked at often

SIGNATURE = Signature(
    id="ENTROPY_EXPLOSION",
    stage="policy",
    severity="warning",
    arm="level",
    requires=("entropy_mean",),
    helps=("reward_mean",),
    shows=("entropy_mean", "reward_mean", "completion_tokens_mean"),
    scale="log",
    thresholds=(
        Threshold(
            "growth",
            1.5,
            "times starting entropy",
            "above it with a reward that does not rise; healthy runs with a flat reward stay below 1.1",
        ),
        Threshold(
            "blind",
            3.0,
            "times starting entropy",
            "above it where no reward is logged or its gain is being lost; runs that rise and heal reach 2.4",
        ),
        Threshold("gain", 2.0, "standard errors", "reward above its start by more than this pays for the entropy"),
        Threshold("loss", 3.0, "standard errors", "reward below its start by more than this makes it critical"),
    ),
    title="Entropy rises without any gain in reward",
    explanation="Token entropy is {after} nats/token, up from {before} before step {onset}, and the reward has not "
    "risen with it: probability flows to tokens that nothing rewards.",
    record="Log the mean token entropy of the policy as entropy_mean, and reward_mean beside it.",
    remedies=(
        Advice(text="Compare the sampler's log-probs with the trainer's: a gap between them feeds noise tokens."),
        Advice(
            text="Lower the entropy bonus.",
            setting="entropy_coefficient",
            suggested="0",
            only_above=0,
        ),
        Advice(text="Leave truncated completions out of the loss.", setting="mask_truncated", suggested="true"),
        Advice(text="Lower the upper clip range.", setting="clip_high", suggested="0.2", only_above=0.2),
        Advice(text="Lower the learning rate.", setting="learning_rate", scale=0.3),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when entropy has settled above its start while the reward has not gained."""
    entropy = rows.series("entropy_mean")
    start = rows.baseline("entropy_mean", START).level
    factor = rows.limit("growth")
    evidence = rows.level("high", entropy.values > factor * start, entropy.fresh)
    # Rows that average few completions stray by themselves, and a start may be low by chance: all rows must bear it out.
    risen = rows.change("entropy_mean").z >= RISEN
    high = (rows.smooth("entropy_mean") > factor * start) & risen
    gain = rows.change("reward_mean").z
    unseen = ~(rows.observations("reward_mean") >= 1)
    # A reward still above its start pays for nothing once most of what it had gained is gone.
    blind = (unseen | ~kept_gain(rows)) & (rows.smooth("entropy_mean") > rows.limit("blind") * start)
    unpaid = (gain <= rows.limit("gain")) | blind
    fires = (evidence >= rows.alarm) & high & unpaid & rows.measured("entropy_mean")
    return Judgement(fires=fires, holds=high, log_evidence=evidence, critical=gain < -rows.limit("loss"))
