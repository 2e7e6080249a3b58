"""Completions are cut at the length cap before they can score, and it does not get better."""

import numpy as np

from rlprobe.doctor.derived import at_the_cap, truncation
from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

WINDOW = 20  # rows that a truncation level is the mean of; single steps of few samples swing by half

SIGNATURE = Signature(
    id="TRUNCATION_STARVE",
    stage="generation",
    severity="warning",
    arm="level",
    requires=("truncated_fraction|completion_tokens_mean",),
    helps=("reward_mean", "completion_tokens_mean", "completion_tokens_max"),
    shows=("truncated_fraction", "completion_tokens_mean", "reward_mean"),
    thresholds=(
        Threshold(
            "high", 0.4, "fraction of completions",
            "cut over 20 rows; real failing runs held 0.45 to 1.0, healthy ones ended below 0.3", 0.0, 1.0,
        ),
        Threshold(
            "falling", 0.65, "fraction of the highest mean of 20 or of 8 rows",
            "below it the policy is learning to finish; failing runs stayed above 0.8, healthy ones fell below 0.5", 0, 1,
        ),
        Threshold("total", 0.95, "fraction of completions", "beyond it a rising reward does not excuse truncation", 0, 1),
        Threshold("gain", 3.0, "standard errors", "reward above its start by more than this is learning all the same"),
        Threshold(
            "growing", 0.15, "fraction of completions",
            "counts already when it grew threefold while the reward fell (one real run: 0 to 0.33)", 0.0, 1.0,
        ),
        Threshold("loss", 3.0, "standard errors", "reward below its start by more than this has fallen"),
    ),
    title="Completions are cut before they can score",
    explanation="Of the completions {cut} % are cut at the length cap, and the reward does not rise.",
    record="Log the fraction of completions cut at the length cap as truncated_fraction.",
    remedies=(
        Advice(text="Raise the length cap until most completions end by themselves.", setting="max_completion_tokens", scale=2.0),
        Advice(text="Read cut completions: an answer that was given and then talked over needs a stop token, not more room."),
        Advice(text="Leave cut completions out of the loss, so that the cap itself is not punished.", setting="mask_truncated", suggested="true"),
        Advice(text="Penalise length softly before the cap instead of scoring cut answers zero."),
    ),
)  # fmt: skip


def judge(rows: Rows) -> Judgement:
    """Fires when truncation is high, does not fall and buys nothing; or when it grew while the reward fell."""
    cut = truncation(rows)
    recent = rows.recent("recent", cut.values, cut.fresh, width=WINDOW)
    seen = rows.count("seen", cut.fresh)
    enough = seen >= WINDOW
    settled = np.where(enough, recent, np.nan)
    peak, lowest = rows.carried_max("peak", settled), rows.carried_min("lowest", settled)
    gain = rows.change("reward_mean").z
    real = at_the_cap(rows, recent, WINDOW)

    high, total = rows.limit("high"), recent >= rows.limit("total")
    now = rows.recent("now", cut.values, cut.fresh, width=8)
    lately = np.where(seen >= 8, now, np.nan)
    highest = rows.carried_max("highest lately", lately)
    falling = (recent < rows.limit("falling") * peak) | (now < rows.limit("falling") * highest)
    patience = np.where(recent >= 1.5 * high, WINDOW, 1.5 * WINDOW)  # a moderate start is given longer to come down
    stuck = (seen >= patience) & (np.minimum(recent, now) >= high) & ~falling
    excused = (gain > rows.limit("gain")) & ~total
    growing = enough & (recent >= rows.limit("growing")) & (lowest <= recent / 3) & (gain < -rows.limit("loss"))
    evidence = np.fmax(
        rows.level("high", cut.values > 0.75 * high, cut.fresh),
        np.where(growing, rows.level("growing", cut.values > rows.limit("growing"), cut.fresh), -np.inf),
    )
    flat = rows.carried_min("lowest lately", lately) >= 0.75 * high
    return Judgement(
        fires=(evidence >= rows.alarm) & real & ((stuck & ~excused) | growing),
        holds=real & (now >= 0.75 * np.fmin(high, recent)) & ((recent >= 0.75 * high) | growing) & ~excused,
        log_evidence=evidence,
        since=np.where(flat, 0, -1),
        facts={"cut": 100 * recent},
    )
