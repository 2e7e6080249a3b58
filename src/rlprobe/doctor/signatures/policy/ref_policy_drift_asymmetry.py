"""Drift sits at certain token positions: one part of the completion carries far more KL than its tokens."""

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

FAMILY = "kl_position_fraction"
WINDOW = 10  # observations whose mean is compared

SIGNATURE = Signature(
    id="REF_POLICY_DRIFT_ASYMMETRY",
    stage="policy",
    severity="warning",
    arm="level",
    requires=(f"{FAMILY}/",),
    helps=("kl_position_token_fraction/", "kl_mean", "reward_mean"),
    shows=(f"{FAMILY}/{{subject}}", "kl_mean", "reward_mean"),
    thresholds=(
        Threshold(
            "excess",
            2.5,
            "times its fraction of the tokens",
            "even drift has 1; answers that open with the result reach 3",
        ),
        Threshold("distance", 0.05, "nats/token", "below it the KL is too small to sit anywhere"),
        Threshold("tokens", 0.05, "fraction of the tokens", "a part with fewer says nothing", high=1.0),
        Threshold("gain", 2.0, "standard errors", "reward above its start by more than this is what the drift buys"),
    ),
    title="Drift is concentrated at one position",
    explanation="Part {subject} of the completion (0 is the opening, 3 the end) carries {after} of the KL, {excess} times its "
    "fraction of the tokens, without any gain in reward.",
    record="Log kl_position_fraction and kl_position_token_fraction for quarters of the completion.",
    remedies=(
        Advice(text="Read the completions there: a rewarded opening, a signature or an end token is learned by heart."),
        Advice(text="Compare the token ids that policy and reference see at that position: template, BOS, end token."),
        Advice(text="Take the reward for style or format out once it is learned."),
    ),
)


def judge(rows: Rows) -> tuple[Judgement, ...]:
    """Fires for a part of the completion whose share of a real drift exceeds its share of the tokens, unpaid."""
    return tuple(_part(rows, name) for name in rows.members(FAMILY))


def _part(rows: Rows, name: str) -> Judgement:
    share = rows.series(f"{FAMILY}/{name}")
    tokens = rows.smooth(f"kl_position_token_fraction/{name}")
    excess = share.values / tokens.clip(min=rows.limit("tokens"))
    large = (excess > rows.limit("excess")) & (tokens >= rows.limit("tokens"))
    drifting = rows.smooth("kl_mean") > rows.limit("distance")
    evidence = rows.level(f"large {name}", large & drifting, share.fresh)
    still = rows.recent(f"still {name}", large & drifting, share.fresh, width=WINDOW) > 0.5
    unpaid = ~(rows.change("reward_mean").z > rows.limit("gain"))
    return Judgement(
        fires=(evidence >= rows.alarm) & still & unpaid,
        holds=still,
        log_evidence=evidence,
        subject=name,
        facts={"excess": excess},
    )
