"""Held-out evaluation falls, or never moves, while training reward rises: what is learned does not carry over."""

from functools import reduce

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.recording.run import BoolArray, FloatArray

FAMILY = "evaluation_score"
OTHER = 6.0  # standard errors of a fall of the training reward that noise does not give
FIRST = 2  # evaluations that the first level is the middle of
LAST = 3  # evaluations that the newest level is the mean of

SIGNATURE = Signature(
    id="EVAL_GAP",
    stage="reward",
    severity="warning",
    arm="trend",
    requires=("evaluation_score/", "reward_mean"),
    helps=("kl_mean",),
    shows=("evaluation_score/{subject}", "reward_mean", "kl_mean"),
    minimum_rows=20,
    thresholds=(
        Threshold("evaluations", 6, "evaluations", "before their course can be told", low=4),
        Threshold("rise", 4.0, "standard errors", "late training reward above early by this much has risen"),
        Threshold(
            "drop",
            0.08,
            "fraction of the best score",
            "below the best; a public run that forgot another task a little lost 0.04",
        ),
        Threshold("noise", 4.0, "standard errors", "that the drop must exceed"),
        Threshold(
            "flat_evaluations", 12, "evaluations", "without any gain on any set while training reward rose", low=4
        ),
    ),
    aliases=("OVERFIT_EVAL_DROP",),
    title="Held-out score does not follow the training reward",
    explanation="Training reward has risen by {rise} standard errors, and the held-out score of {subject} is {now} after {best} at its best.",
    record="Evaluate on held-out prompts now and then and log evaluation_score/NAME.",
    remedies=(
        Advice(text="Keep the checkpoint with the best held-out score."),
        Advice(text="Add prompts, or stop after fewer passes over them."),
        Advice(
            text="Look for training prompts that can be answered by a trick, and for evaluation settings that differ from training."
        ),
        Advice(
            text="Keep the policy nearer to its reference.",
            setting="kl_coefficient",
            suggested="0.01-0.05",
            only_below=0.01,
        ),
    ),
)


def judge(rows: Rows) -> tuple[Judgement, ...]:
    """One judgement an evaluation set: fallen from its best, or flat with every other set, while training rises."""
    names = [f"{FAMILY}/{name}" for name in rows.members(FAMILY)]
    train, share = _training(rows)
    gained, lacking = np.zeros(len(rows), dtype=bool), np.zeros(len(rows), dtype=bool)
    for name in names:
        now, noise = _now(rows, name), rows.change(name, minimum=4).noise
        first = rows.baseline(name, count=FIRST).level
        gained |= now - first > np.fmax(2 * noise / np.sqrt(LAST), 0.01 * np.abs(first))
        # That nothing was gained is known once a gain of training's proportion lies beyond the noise of both ends.
        error = noise * np.sqrt(1 / FIRST + 1 / LAST)
        lacking |= share * np.abs(first) - (now - first) > rows.limit("noise") * error
    return tuple(_one(rows, name, train, lacking & ~gained) for name in names)


def _training(rows: Rows) -> tuple[FloatArray, FloatArray]:
    """(n,) how far training has risen, in standard errors and as a fraction of its start.

    Where a score of the task itself is logged beside the reward, it must have risen too: a reward that rises without
    the task has nothing that could carry over, and other signatures name what it pays for.
    """
    rises, shares = [], []
    for name in ("reward_mean", "true_reward_mean", "accuracy_fraction"):
        change, start = rows.change(name), rows.baseline(name).level
        rises.append(change.z)
        shares.append((change.late - start) / np.abs(start))
    return reduce(np.fmin, rises), reduce(np.fmin, shares)


def _one(rows: Rows, name: str, train: FloatArray, unmoved: BoolArray) -> Judgement:
    series, count = rows.series(name), rows.observations(name)
    now, noise = _now(rows, name), rows.change(name, minimum=4).noise
    best = rows.carried_max(f"best {name}", _now(rows, name))
    drop = best - now
    fallen = (drop > rows.limit("drop") * np.abs(best)) & (drop > rows.limit("noise") * noise * np.sqrt(2 / LAST))
    # A training reward that has fallen as well met another task or another judge: the best score is of that time.
    fallen &= ~rows.ever(f"other task {name}", rows.fall("reward_mean").z >= OTHER)
    risen, enough = train >= rows.limit("rise"), count >= rows.limit("evaluations")
    flat = (count >= rows.limit("flat_evaluations")) & unmoved
    # A set may take off late: that nothing was gained is told once evaluation after evaluation has shown it.
    known = rows.level(f"flat {name}", flat & risen, series.fresh) >= rows.alarm
    gap = risen & enough & (fallen | flat & known)
    # Evaluations are few and noisy: one that comes half way back within its noise has not come back.
    still = fallen | (drop > rows.limit("drop") / 2 * np.abs(best)) & (drop > noise * np.sqrt(2 / LAST))
    return Judgement(
        fires=rows.recent(f"stands {name}", gap, series.fresh, width=2) >= 1.0,
        holds=still | flat,
        log_evidence=rows.level(f"gap {name}", gap, series.fresh),
        subject=name.split("/", 1)[1],
        facts={"rise": train, "now": now, "best": best},
    )


def _now(rows: Rows, name: str) -> FloatArray:
    """(n,) mean of the newest evaluations."""
    return rows.mean(name, LAST)
