"""The policy stops calling its tools, or the tools stop answering."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.doctor.silence import kept_gain
from rlprobe.recording.run import BoolArray, FloatArray, IntArray

SIGNATURE = Signature(
    id="TOOL_USE_COLLAPSE",
    stage="generation",
    severity="warning",
    arm="level",
    requires=("tool_calls_mean|turns_mean|tool_failure_fraction",),
    helps=("reward_mean", "tool_calls_mean", "turns_mean", "tool_failure_fraction"),
    shows=("tool_calls_mean", "turns_mean", "tool_failure_fraction", "reward_mean"),
    minimum_rows=20,
    thresholds=(
        Threshold(
            "left", 0.25, "fraction of the most calls or further turns",
            "fewer than this is a collapse; four real collapses ended at 0 to 0.2, healthy runs never fell below 0.85", 0, 1,
        ),
        Threshold(
            "fading", 0.5, "fraction of the most calls or further turns",
            "fewer than this is a loss by degrees, when the fall is beyond the noise", 0, 1,
        ),
        Threshold("fall", 6.0, "standard errors", "between the best block of rows and the newest, for a loss by degrees"),
        Threshold("worth", 0.5, "calls a sample", "a policy that never called more often has no habit to lose"),
        Threshold(
            "failing", 0.6, "fraction of tool calls",
            "more failed calls than this, and twice the start, is an outage; healthy runs held 0.15 to 0.3", 0, 1,
        ),
        Threshold("hopeless", 0.9, "fraction of tool calls", "failed from the start: the tools never worked", 0, 1),
        Threshold("gain", 2.5, "standard errors", "reward above its start by more than this: it learned to do without"),
    ),
    title="Tool calls stop or fail",
    explanation="Tool use falls from {before} before step {onset} to {after}, and the reward does not gain by it.",
    record="Log tool calls a sample as tool_calls_mean, or turns a sample as turns_mean, and failed calls as tool_failure_fraction.",
    remedies=(
        Advice(text="Read samples around the onset: see whether calls stop, are malformed, or come back with errors."),
        Advice(text="Check the sandbox, its timeouts and its quota at the onset."),
        Advice(text="Leave failed tool calls out of the loss instead of scoring them as wrong answers."),
        Advice(text="Roll back to before the onset and raise the KL coefficient.", setting="kl_coefficient", scale=3.0),
    ),
    aliases=("TOOL_ABANDON", "TOOL_FAILURE"),
)  # fmt: skip


def judge(rows: Rows) -> Judgement:
    """Fires when calls (where they are not logged: turns after the first) settle far below their peak, or most fail."""
    calls, calls_evidence = _abandoned(rows, "tool_calls_mean", 0.0)
    turns, turns_evidence = _abandoned(rows, "turns_mean", 1.0)
    uncounted = np.isnan(rows.series("tool_calls_mean").values)
    without_gain = ~(rows.change("reward_mean").z > rows.limit("gain")) | ~kept_gain(rows)
    abandoned_evidence = np.where(uncounted, turns_evidence, calls_evidence)
    broken, broken_evidence, broke = _broken(rows)
    fires_broken = broken & (broken_evidence >= rows.alarm)
    # A policy that gains by leaving a tool which failed it has not learned to do without: the tool is gone.
    abandoned = np.where(uncounted, turns, calls) & (without_gain | rows.ever("failed it", fires_broken))
    fires_abandoned = abandoned & (abandoned_evidence >= rows.alarm)
    fires_abandoned |= (
        np.where(uncounted, _fading(rows, "turns_mean", 1.0), _fading(rows, "tool_calls_mean", 0.0)) & without_gain
    )
    return Judgement(
        fires=fires_abandoned | fires_broken,
        holds=abandoned | broken | fires_abandoned,
        log_evidence=np.fmax(abandoned_evidence, broken_evidence),
        since=np.where(fires_broken & ~fires_abandoned, broke, -1),
    )


def _abandoned(rows: Rows, name: str, floor: float) -> tuple[BoolArray, FloatArray]:
    """Whether use has settled far below its peak, and the log evidence; `floor` is the value without any tool."""
    used, level = rows.series(name), rows.smooth(name) - floor
    peak = rows.carried_max(f"peak {name}", np.where(rows.observations(name) >= 5, level, np.nan))
    few = rows.limit("left") * peak
    evidence = rows.level(f"few {name}", used.values - floor < few, used.fresh)
    return (level < few) & (peak >= rows.limit("worth")), evidence


def _fading(rows: Rows, name: str, floor: float) -> BoolArray:
    """(n,) whether use has fallen by degrees, beyond its noise, to less than half of what it was."""
    fall = rows.fall(name)
    best = fall.best - floor
    fewer = (fall.last - floor < rows.limit("fading") * best) & (
        rows.smooth(name) - floor < rows.limit("fading") * best
    )
    fading: BoolArray = fewer & (best >= rows.limit("worth")) & (fall.z >= rows.limit("fall"))
    return fading


def _broken(rows: Rows) -> tuple[BoolArray, FloatArray, IntArray]:
    """Whether most calls of a policy that still calls fail, the log evidence, and the row since which they fail."""
    failed, level = rows.series("tool_failure_fraction"), rows.smooth("tool_failure_fraction")
    start = rows.baseline("tool_failure_fraction", 10).level
    outage = (level > rows.limit("failing")) & (level > 2 * start)
    calling = ~(rows.smooth("tool_calls_mean") < 0.1)  # of a handful of calls any fraction can fail
    evidence = rows.level("failed", failed.values > rows.limit("failing"), failed.fresh & calling)
    since = rows.streak("failed since", failed.values > rows.limit("failing"), failed.fresh, gap=2)
    return (outage | (level > rows.limit("hopeless"))) & calling, evidence, since
