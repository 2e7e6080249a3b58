"""The KL term outweighs the reward: the policy is trained to stay where it is, or to shrink its penalty."""

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

START = 5  # first observations of the penalty
PATIENCE = 40  # observations of the reward before it is expected to have moved

SIGNATURE = Signature(
    id="KL_DOMINATES",
    stage="policy",
    severity="warning",
    arm="level",
    requires=("kl_coefficient|reward_with_kl_mean",),
    helps=("kl_mean", "reward_mean"),
    shows=("reward_with_kl_mean", "kl_mean", "kl_coefficient", "reward_mean"),
    thresholds=(
        Threshold(
            "penalty",
            3.0,
            "times the range and level of the reward",
            "a penalty inside the reward that is this large from the start is what is optimised; healthy runs stay "
            "below 0.5, the two failing ones begin at 15 and 20",
        ),
        Threshold("coefficient", 1.0, "KL coefficient", "published recipes use 0 to 0.1 on a loss of unit advantages"),
        Threshold("held", 0.02, "nats/token", "a KL that never rises above it has gone nowhere"),
        Threshold(
            "gain", 2.0, "standard errors", "reward above its start by more than this shows that learning is possible"
        ),
    ),
    title="The KL penalty outweighs the reward",
    explanation="Since step {onset} the KL term outweighs what the reward can pay: updates shrink the penalty and do "
    "not raise the reward.",
    record="Log kl_coefficient and kl_mean, and the reward before and after its KL penalty.",
    remedies=(
        Advice(text="Lower the KL coefficient.", setting="kl_coefficient", suggested="0.001 to 0.04", only_above=0.04),
        Advice(text="Take the KL per token, not summed over the completion, or short answers become the cheapest."),
        Advice(text="Move the KL term from the reward into the loss."),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires on a penalty that dwarfs the reward from the start, or a coefficient that holds KL and reward in place."""
    plain, reduced = rows.series("reward_mean"), rows.series("reward_with_kl_mean")
    both = plain.fresh & reduced.fresh
    penalty = rows.recent_median("penalty", plain.values - reduced.values, both, width=START)
    scale = rows.highest("reward_mean") - rows.lowest("reward_mean") + abs(rows.smooth("reward_mean", 15))
    begin = rows.baseline("reward_mean", START).level - rows.baseline("reward_with_kl_mean", START).level
    heavy = both & (penalty > rows.limit("penalty") * scale) & (begin > rows.limit("penalty") * scale)
    evidence = rows.level("heavy", heavy, both)
    weight = rows.series("kl_coefficient").values
    weight = weight if rows.has("kl_coefficient") else weight * 0 + rows.number("kl_coefficient", 0.0)
    kl = rows.series("kl_mean")
    held = (weight >= rows.limit("coefficient")) & (kl.values < rows.limit("held")) & rows.measured("kl_mean")
    stuck = rows.level("held", held, kl.fresh)
    still = (rows.change("reward_mean").z <= rows.limit("gain")) & (rows.observations("reward_mean") >= PATIENCE)
    return Judgement(
        fires=((evidence >= rows.alarm) & heavy) | ((stuck >= rows.alarm) & held & still),
        holds=heavy | (held & still),
        log_evidence=evidence.clip(min=stuck),
    )
