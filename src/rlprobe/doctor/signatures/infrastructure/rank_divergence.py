"""One rank lags: all the others wait for it in every step."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

SIGNATURE = Signature(
    id="RANK_DIVERGENCE",
    stage="infrastructure",
    severity="warning",
    arm="level",
    requires=("rank_step_seconds_max", "rank_step_seconds_median"),
    shows=("rank_step_seconds_max", "rank_step_seconds_median", "step_seconds"),
    scale="log",
    thresholds=(
        Threshold(
            "lag", 1.5, "times the median rank's time",
            "the slowest rank over five rows; a third of every other rank's time is then spent waiting", 1,
        ),
    ),
    title="One rank lags behind the others",
    explanation="The slowest rank takes {lag} times as long as the median one, and every step waits for it.",
    record="Log the step time of the slowest and of the median rank as rank_step_seconds_max and rank_step_seconds_median.",
    remedies=(
        Advice(text="Find the rank: compare clocks, temperature and other processes of its device with those of a fast one."),
        Advice(text="Balance the tokens a rank gets: sort samples by length before they are dealt out."),
        Advice(text="Move slow reward functions and checkpoint writing off the rank that all others wait for."),
    ),
    aliases=("STRAGGLER",),
)  # fmt: skip


def judge(rows: Rows) -> Judgement:
    """Fires when the slowest rank has settled far above the median one."""
    slowest, middle = rows.series("rank_step_seconds_max"), rows.series("rank_step_seconds_median")
    fresh = slowest.fresh & middle.fresh & (middle.values > 0)
    lag = np.where(fresh, slowest.values / np.where(fresh, middle.values, 1.0), np.nan)
    level = rows.recent_median("level", lag, fresh, width=5)
    evidence = rows.level("lags", lag > rows.limit("lag"), fresh)
    return Judgement(
        fires=(evidence >= rows.alarm) & (level > rows.limit("lag")),
        holds=level > 0.9 * rows.limit("lag"),
        log_evidence=evidence,
        facts={"lag": level},
    )
