"""Metrics jump where training was resumed: the checkpoint did not bring everything back."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.recording.run import BoolArray, FloatArray

BEFORE, AFTER = 8, 5  # rows whose medians are compared across the boundary
WATCHED = ("reward_mean", "entropy_mean", "kl_mean", "completion_tokens_mean", "value_mean", "learning_rate")

SIGNATURE = Signature(
    id="RESUME_DISCONTINUITY",
    stage="infrastructure",
    severity="warning",
    arm="jump",
    requires=("reward_mean|entropy_mean|kl_mean|completion_tokens_mean",),
    helps=WATCHED,
    shows=("reward_mean", "entropy_mean", "kl_mean", "learning_rate"),
    minimum_rows=20,
    thresholds=(
        Threshold("noise", 4.0, "standard deviations of one row", "a jump of the median across the boundary; it averages five rows"),
        Threshold("ever", 2.0, "times the largest such jump before", "training itself moves metrics: a boundary must move them more", 1),
        Threshold("rate", 2.0, "times", "change of the learning rate across the boundary; schedules move on without a jump", 1),
    ),
    title="Metrics jump where training was resumed",
    explanation="Training was resumed at step {step} and did not go on as it was ({subject}: a jump moved a metric further than ever before, a restart replaced every earlier row).",
    record="Open the same recording again when training resumes, so that the boundary is known.",
    remedies=(
        Advice(text="Check that the checkpoint's weights were loaded: compare a parameter with the file."),
        Advice(text="Restore optimizer, scheduler, data order and random state with the weights."),
        Advice(text="Check that the reference is the one of the first session, not the checkpoint."),
        Advice(text="Resume again from the same checkpoint before more is trained on the wrong state."),
    ),
)  # fmt: skip


def judge(rows: Rows) -> tuple[Judgement, ...]:
    """Fires AFTER rows into a session whose metrics moved further than ever before; a second start recovers by itself."""
    boundary, restart = _boundaries(rows)
    times = np.zeros(len(rows))
    evidence = np.full(len(rows), -np.inf)
    for name in WATCHED:
        moved, nats = _moved(rows, name)
        times, evidence = np.fmax(times, moved), np.fmax(evidence, nats)
    judged = rows.earlier("judged", boundary.astype(np.float64), rows.every, lag=AFTER - 1) == 1
    jumped = judged & (times >= rows.limit("ever"))
    steps = rows.steps.astype(np.float64)
    jump = Judgement(
        fires=jumped,
        holds=rows.ever("jumped", jumped),
        log_evidence=np.where(jumped, evidence, -np.inf),
        since=rows.index - AFTER + 1,
        subject="jump",
        facts={"step": rows.earlier("step", steps, rows.every, lag=AFTER - 1)},
    )
    appended = rows.manifest.format != "recording"  # logs hold one run behind the other; a recording is one run
    again = Judgement(
        fires=restart,
        log_evidence=rows.exact(restart),
        explained=np.full(len(rows), appended),
        since=rows.index,
        subject="restart",
        facts={"step": steps},
    )
    return jump, again


def _boundaries(rows: Rows) -> tuple[BoolArray, BoolArray]:
    """Rows with which a session begins after another, and the first row where it replaced every earlier one."""
    session = rows.segments.astype(np.float64)
    before = rows.earlier("session", session, rows.every, lag=1)
    return (session != before) & ~np.isnan(before), (rows.index == 0) & (session > 0)


def _moved(rows: Rows, name: str) -> tuple[FloatArray, FloatArray]:
    """(n,) how far the metric's median moved over the last AFTER rows, in multiples of the largest such move before.

    Zero where it is no more than noise. The log evidence is that of a Gaussian shift of the median, halved because
    neighbouring rows depend on each other.
    """
    series = rows.series(name)
    lately = rows.smooth(name, AFTER)
    earlier = rows.ago(name, AFTER)
    settled = rows.earlier(f"{name} before", rows.smooth(name, BEFORE), series.fresh, lag=AFTER)
    move = np.where(np.isnan(earlier), np.nan, np.abs(lately - settled))
    record = rows.earlier(f"{name} record", rows.carried_max(f"{name} largest", move), series.fresh, lag=AFTER)
    noise = rows.change(name).noise
    if name == "learning_rate":
        ratio = np.fmax(lately, settled) / np.where(np.fmin(lately, settled) > 0, np.fmin(lately, settled), np.nan)
        far = ratio >= rows.limit("rate")
        noise = np.where(far, move / 8.0, noise)
    else:
        far = move >= rows.limit("noise") * noise
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.where(far, move / record, 0.0)
        nats = np.where(far, (move / noise) ** 2 / (4 * (1 / AFTER + 1 / BEFORE)), -np.inf)
    return np.nan_to_num(times, nan=0.0, posinf=99.0), np.nan_to_num(nats, nan=-np.inf, posinf=700.0, neginf=-np.inf)
