"""Drift sits at certain token positions: one part of the completion carries far more KL than its tokens."""

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

FAMILY = "kl_position_fraction"
FIRST_STEP = 2  # a log that begins later has no first KL
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
        Threshold("excess", 2.5, "times its fraction of the tokens", "from the first step on: even drift has 1"),
        Threshold(
            "leaning", 1.5, "times its fraction of the tokens", "below it a drift of the first step has evened out"
        ),
        Threshold("present", 0.005, "nats/token", "KL at the first step that equal models do not have"),
        Threshold(
            "later",
            3.3,
            "times its fraction of the tokens",
            "in the course of training, where drift towards the answer's own place reaches 3 and is right",
        ),
        Threshold("distance", 0.1, "nats/token", "later drift below it is too small to sit anywhere"),
        Threshold("tokens", 0.05, "fraction of the tokens", "a part with fewer says nothing", high=1.0),
        Threshold("gain", 2.0, "standard errors", "reward above its start by more than this is what later drift buys"),
    ),
    aliases=("REF_DRIFT_ASYMMETRY",),
    title="Drift is concentrated at one position",
    explanation="Part {subject} of the completion (0 is the opening, 3 the end) carries {after} of the KL, {excess} "
    "times its fraction of the tokens.",
    record="Log kl_position_fraction and kl_position_token_fraction for quarters of the completion.",
    remedies=(
        Advice(text="Read the completions there: a rewarded opening, a signature or an end token is learned by heart."),
        Advice(text="Compare the token ids that policy and reference see at that position: template, BOS, end token."),
        Advice(text="Take the reward for style or format out once it is learned."),
    ),
)


def judge(rows: Rows) -> tuple[Judgement, ...]:
    """Fires for a part that carries more of a drift than of the tokens: from the first step, or later and unpaid."""
    return tuple(_part(rows, name) for name in rows.members(FAMILY))


def _part(rows: Rows, name: str) -> Judgement:
    kl, share = rows.series("kl_mean"), rows.series(f"{FAMILY}/{name}")
    tokens = rows.smooth(f"kl_position_token_fraction/{name}")
    excess = share.values / tokens.clip(min=rows.limit("tokens"))
    told = share.fresh & (tokens >= rows.limit("tokens"))
    first = (rows.observations("kl_mean") == 1) & (rows.steps <= FIRST_STEP) & (kl.values > rows.limit("present"))
    given = rows.ever(f"given {name}", first & kl.fresh)
    distant = rows.smooth("kl_mean") > rows.limit("distance")
    unpaid = ~(rows.change("reward_mean").z > rows.limit("gain"))
    early = told & given & (excess > rows.limit("excess"))
    late = told & distant & (excess > rows.limit("later"))
    began, settled = rows.level(f"early {name}", early, told), rows.level(f"late {name}", late, told)
    # What was wrong before the first update stays wrong while the policy's own drift dilutes it.
    leaning = late | (given & (excess > rows.limit("leaning")))
    still = rows.recent(f"still {name}", leaning, told, width=WINDOW) > 0.5
    return Judgement(
        fires=((began >= rows.alarm) | ((settled >= rows.alarm) & unpaid)) & still,
        holds=still,
        log_evidence=began.clip(min=settled),
        subject=name,
        facts={"excess": excess},
    )
