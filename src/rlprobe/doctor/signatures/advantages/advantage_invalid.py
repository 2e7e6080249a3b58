"""Advantages break a bound or a sign that their own definition implies."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.doctor.silence import grouped, standardised
from rlprobe.recording.run import BoolArray, FloatArray

WINDOW = 10  # rows that the disagreement is averaged over; groups that fall silent agree with anything

SAME = 1e-6  # reward; a mean with KL this near to the mean without it holds no KL term

SIGNATURE = Signature(
    id="ADVANTAGE_INVALID",
    stage="advantages",
    severity="warning",
    arm="exact",
    requires=("advantage_reward_disagreement_fraction|advantage_max|advantage_min",),
    helps=("advantage_mean", "reward_std_group_mean"),
    shows=("advantage_reward_disagreement_fraction", "advantage_max", "advantage_min", "advantage_mean"),
    minimum_rows=3,
    thresholds=(
        Threshold("slack", 1.02, "of the bound", "rounding and the eps of the division stay below it", low=1.0),
        Threshold(
            "disagree",
            0.1,
            "fraction of samples",
            "a sign that follows the reward never disagrees; a KL term inside the reward turns a few round",
            high=1.0,
        ),
        Threshold(
            "flipped",
            0.5,
            "fraction of samples",
            "above it the sign is turned round, and training pays for wrong answers",
            high=1.0,
        ),
        Threshold("rows", 3, "rows", "that must break the rule before one partial batch cannot be the reason", low=1),
    ),
    aliases=("ADV_EXPLOSION", "ADV_BIASED", "SIGN_FLIP"),
    title="Advantages contradict their definition",
    explanation="Since step {onset} advantages contradict what they are defined as ({subject}: {amount} where {allowed} is the most): they are "
    "computed from other numbers than they should be.",
    record="Log advantage_max, advantage_min and the fraction of samples whose advantage has the wrong sign.",
    remedies=(
        Advice(text="Compute the advantages of one saved batch by hand and compare sample by sample."),
        Advice(
            text="Look for a sign, a group reshaped along the wrong axis, and a mean or deviation taken over padding."
        ),
        Advice(
            text="Sample larger groups where a tiny deviation blows advantages up.",
            setting="group_size",
            suggested="8",
            only_below=8,
        ),
    ),
    lasting=True,
)


def judge(rows: Rows) -> tuple[Judgement, ...]:
    """Fires on samples whose advantage opposes their reward, and on advantages that no group of that size can have."""
    disagree = rows.series("advantage_reward_disagreement_fraction")
    usual = rows.recent("usual", disagree.values, disagree.fresh, width=WINDOW)
    # Only against a group's mean does the reward give the sign: a value head or a running mean may expect otherwise.
    signed = disagree.fresh & grouped(rows)
    against = signed & (usual > rows.limit("disagree"))
    flipped = signed & (disagree.values > rows.limit("flipped"))
    top, bound = _top(rows), _bound(rows)
    return (
        _one(rows, "fraction of wrong signs", against, flipped, usual, rows.limit("disagree")),
        _one(rows, "largest advantage", top > rows.limit("slack") * bound, None, top, bound),
    )


def _one(
    rows: Rows, subject: str, broken: BoolArray, critical: BoolArray | None, amount: FloatArray, allowed: float
) -> Judgement:
    wrong = broken & (rows.count(subject, broken) >= rows.limit("rows"))
    return Judgement(
        fires=wrong,
        log_evidence=rows.exact(wrong),
        holds=rows.ever(f"{subject} known", wrong),  # a formula stays wrong where it shows only now and then
        critical=None if critical is None else wrong & critical,
        since=rows.streak(f"{subject} since", broken, rows.every, gap=10),
        subject=subject,
        facts={"amount": amount, "allowed": np.full(len(rows), allowed)},
    )


def _top(rows: Rows) -> FloatArray:
    """(n,) largest size of an advantage in each row, NaN where none was logged or a KL term may be part of it.

    A teacher's or a reference's KL that is paid token by token is no part of the group's standard scores.
    """
    high, low = rows.series("advantage_max"), rows.series("advantage_min")
    top = np.fmax(np.where(high.fresh, high.values, np.nan), np.where(low.fresh, -low.values, np.nan))
    apart = np.abs(rows.series("reward_with_kl_mean").values - rows.series("reward_mean").values)
    return np.where(apart > SAME, np.nan, top)


def _bound(rows: Rows) -> float:
    """Largest standard score in a group of G: sqrt(G - 1); infinite where advantages are not standard scores."""
    group = rows.number("group_size", 0.0)
    return float(np.sqrt(group - 1.0)) if standardised(rows) and group >= 2 else np.inf
