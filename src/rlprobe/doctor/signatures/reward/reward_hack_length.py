"""Reward is bought with length: longer answers of the same group are paid better, and answers grow."""

from functools import reduce

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.recording.run import BoolArray, FloatArray

WIDTH = 9  # rows that the usual correlation is the mean of
SURE = 2.0  # standard errors by which it must lie above the limit: noise alone does so in one of 40 rows

SIGNATURE = Signature(
    id="REWARD_HACK_LENGTH",
    stage="reward",
    severity="warning",
    arm="level",
    requires=(
        "length_reward_correlation|true_reward_mean|accuracy_fraction|evaluation_score/",
        "completion_tokens_mean",
        "reward_mean",
    ),
    helps=("true_reward_mean", "accuracy_fraction", "evaluation_score/", "truncated_fraction"),
    shows=(
        "completion_tokens_mean",
        "length_reward_correlation",
        "reward_mean",
        "true_reward_mean",
        "accuracy_fraction",
    ),
    minimum_rows=25,
    thresholds=(
        Threshold(
            "correlation",
            0.3,
            "rank correlation within groups",
            "below it length explains a tenth of the reward's order",
            high=1.0,
        ),
        Threshold("growth", 1.3, "of the starting length", "shorter growth costs little"),
        Threshold(
            "rise",
            6.0,
            "standard errors",
            "without that correlation: reward and length have both risen by as much while a score of the task stayed",
        ),
        Threshold("longer", 1.5, "of the starting length", "the growth asked for without that correlation"),
        Threshold(
            "truth",
            1.0,
            "standard errors",
            "a true score, accuracy or held-out score that rose by this much paid for the length",
        ),
        Threshold(
            "lost",
            3.0,
            "standard errors",
            "a score of the task that fell by this much makes it critical: what is trained is no longer the task",
        ),
    ),
    title="Reward is bought with length",
    explanation="Completions grew to {after} tokens from {before} before step {onset}; longer ones get more reward, "
    "and no score of the task itself has risen with it.",
    record="Log the rank correlation of length and reward within groups as length_reward_correlation.",
    remedies=(
        Advice(
            text="Take length out of the reward: compare the pay of a right answer with that of the same answer padded."
        ),
        Advice(text="Charge tokens above what a right answer needs, or pay nothing close to the cap."),
        Advice(text="Lower the length cap.", setting="max_completion_tokens", scale=0.5),
        Advice(
            text="Keep the policy nearer to its reference.",
            setting="kl_coefficient",
            suggested="0.01-0.05",
            only_below=0.01,
        ),
    ),
    scale="log",
)


def judge(rows: Rows) -> Judgement:
    """Fires when longer answers have been paid better for many rows, answers have grown, and the task has not."""
    paid = _paid(rows)
    length, start = rows.smooth("completion_tokens_mean", WIDTH), rows.baseline("completion_tokens_mean").level
    grown = length >= rows.limit("growth") * start
    highest, lowest = _task(rows)
    earned = highest >= rows.limit("truth")
    together = _together(rows, length, start, highest)
    bought = paid & grown & (rows.change("reward_mean").z > 0)
    # Room for an answer is paid until there is room enough: only pay that goes on after the growth is for length itself.
    evidence = np.maximum(
        rows.level("paid", paid & grown, rows.series("length_reward_correlation").fresh),
        rows.level("together", together, rows.series("reward_mean").fresh),
    )
    return Judgement(
        fires=(bought | together) & (evidence >= rows.alarm) & ~earned,
        holds=grown & ~earned,
        log_evidence=evidence,
        critical=lowest <= -rows.limit("lost"),
    )


def _paid(rows: Rows) -> BoolArray:
    """(n,) whether the usual correlation lies above the limit beyond its own noise: groups are few, and it is noisy."""
    noise = rows.change("length_reward_correlation", minimum=WIDTH).noise
    usual = rows.mean("length_reward_correlation", WIDTH)
    paid: BoolArray = usual - SURE * noise / np.sqrt(WIDTH) > rows.limit("correlation")
    return paid


def _together(rows: Rows, length: FloatArray, start: FloatArray, highest: FloatArray) -> BoolArray:
    """(n,) where nobody logged the correlation: reward and length have risen far, and a score of the task has not."""
    blind = ~(rows.observations("length_reward_correlation") >= 1)
    far = (rows.change("reward_mean").z >= rows.limit("rise")) & (
        rows.change("completion_tokens_mean").z >= rows.limit("rise")
    )
    unmoved = highest < rows.limit("truth")  # not so where no score of the task is logged
    together: BoolArray = blind & far & (length >= rows.limit("longer") * start) & unmoved
    return together


def _task(rows: Rows) -> tuple[FloatArray, FloatArray]:
    """(n,) largest and smallest change of a score of the task itself, in standard errors; NaN where there is none.

    Thought that grows with such a score is what training is for.
    """
    held_out = [f"evaluation_score/{name}" for name in rows.members("evaluation_score")]
    changes = [rows.change(name, minimum=6).z for name in ("true_reward_mean", "accuracy_fraction", *held_out)]
    return reduce(np.fmax, changes), reduce(np.fmin, changes)
