"""The same tokens cost ever more seconds: throughput rots, and longer completions do not explain it."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

START = 15  # rows that make the start level
SETTLED = 5  # rows left out before it: the first steps compile and fill caches

SIGNATURE = Signature(
    id="THROUGHPUT_ROT",
    stage="infrastructure",
    severity="info",
    arm="level",
    requires=("step_seconds", "completion_tokens_mean"),
    helps=("generation_seconds", "samples_count"),
    shows=("step_seconds", "generation_seconds", "tokens_per_second", "completion_tokens_mean"),
    scale="log",
    thresholds=(
        Threshold(
            "slower", 1.5, "times the start level",
            "in seconds a generated token and in seconds a step; healthy real runs stay below 1.2 in one of the two", 1,
        ),
    ),
    title="The same tokens cost ever more time",
    explanation="A step takes {after} s instead of {before} s, and a generated token {dearer} times as long as at the start.",
    record="Log step_seconds and completion_tokens_mean in every row.",
    remedies=(
        Advice(text="Time generation, scoring and the update apart, and compare a late step with an early one."),
        Advice(text="Look for what grows with the step: caches that are not emptied, lists of samples, log files, a leak that forces offloading."),
        Advice(text="Restart from a checkpoint: if the speed returns, the process holds something that it should free."),
    ),
)  # fmt: skip


def judge(rows: Rows) -> Judgement:
    """Fires when both a step and a token have settled at a higher price than at the start.

    A step alone grows with its completions; a token alone grows when completions shrink and the fixed costs stay.
    """
    seconds, tokens = rows.series("step_seconds"), rows.series("completion_tokens_mean")
    count = rows.series("samples_count").values
    made = tokens.values * np.where(np.isnan(count), 1.0, count)
    fresh = seconds.fresh & (made > 0) & (rows.observations("step_seconds") > SETTLED)
    price = np.where(fresh, seconds.values / np.where(fresh, made, 1.0), np.nan)
    step_times = _times(rows, "step", seconds.values, fresh)
    token_times = _times(rows, "token", price, fresh)
    slower = np.fmin(step_times, token_times)
    evidence = rows.level("slower", slower > rows.limit("slower"), fresh)
    level = rows.recent_median("level", slower, fresh & ~np.isnan(slower), width=5)
    return Judgement(
        fires=(evidence >= rows.alarm) & (level > rows.limit("slower")),
        holds=level > 0.5 * (1 + rows.limit("slower")),
        log_evidence=evidence,
        facts={"dearer": rows.recent_median("token level", token_times, fresh, width=5)},
    )


def _times(rows: Rows, key: str, x: np.ndarray, fresh: np.ndarray) -> np.ndarray:
    """(n,) x as a multiple of its median over the first START fresh rows; NaN before there are that many."""
    first = rows.recent_median(f"first {key}", x, fresh & (rows.count(f"seen {key}", fresh) <= START), width=START)
    return np.where(rows.count(f"start {key}", fresh) > START, x / first, np.nan)
