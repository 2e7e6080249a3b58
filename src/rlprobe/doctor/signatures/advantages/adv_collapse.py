"""Advantages are near zero although rewards vary: the learning signal is lost between the two."""

import numpy as np

from rlprobe.doctor.rows import Rows, Series
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.doctor.silence import mastered, silent_groups, standardised
from rlprobe.recording.run import BoolArray

NOTHING = 1e-9  # advantages below it are zero
WILD = 2.0  # times their median that the mean of the first sizes may count; one wild row makes it more
SIZES = ("advantage_std", "advantage_abs_mean", "advantage_max")

SIGNATURE = Signature(
    id="ADV_COLLAPSE",
    stage="advantages",
    severity="warning",
    arm="level",
    requires=("advantage_std|advantage_abs_mean|advantage_max|advantage_mean", "reward_mean"),
    helps=("zero_variance_group_fraction", "reward_std_batch", "policy_loss", "value_loss"),
    shows=(
        "advantage_std",
        "advantage_abs_mean",
        "advantage_max",
        "advantage_mean",
        "reward_std_batch",
        "reward_mean",
        "grad_norm",
    ),
    thresholds=(
        Threshold(
            "remaining",
            0.12,
            "fraction of the starting size",
            "below it updates are noise; the groups that fell silent are allowed for",
        ),
        Threshold("rows", 20, "rows", "of advantages that are exactly zero while rewards vary", low=3),
    ),
    title="Advantages collapsed although rewards vary",
    explanation="Advantages have fallen to {after} while rewards still differ from row to row: what tells good answers from bad is "
    "lost on the way from reward to advantage.",
    record="Log the standard deviation of the advantages as advantage_std.",
    remedies=(
        Advice(text="Compute the advantages of one saved batch by hand and find the step that makes them zero."),
        Advice(text="With a value head, check that its target is the return and not its own prediction."),
        Advice(text="Divide by each group's own deviation.", setting="advantage_scaling", suggested="group"),
        Advice(text="Sample several completions of each prompt.", setting="group_size", suggested="8", only_below=4),
    ),
    scale="log",
)


def judge(rows: Rows) -> Judgement:
    """Fires when advantages are zero, or a small part of what spread of rewards and silent groups explain."""
    size = _size(rows)
    reward = rows.series("reward_mean")
    varied = rows.highest("reward_mean") - rows.lowest("reward_mean") > 1e-6 * (1.0 + np.abs(reward.values))
    silent = silent_groups(rows)
    loud = 1.0 - rows.recent("silent", silent.values, silent.fresh, width=10)
    loud = np.where(np.isnan(loud), 1.0, loud)
    early = size.fresh & (rows.count("early", size.fresh) <= 15)
    start, typical = (
        rows.recent("start", size.values, early, width=15),
        rows.recent_median("typical", size.values, early, width=15),
    )
    start = np.where(typical > NOTHING, np.minimum(start, WILD * typical), start)
    defined = standardised(rows)  # a standard score has size 1 by definition
    begun = (rows.count("seen", size.fresh) >= 15) | defined
    start = np.full(len(rows), 1.0) if defined else start
    ratio = rows.recent("now", size.values, size.fresh, width=5) / np.maximum(start * np.sqrt(loud), 1e-300)
    small = begun & (start > NOTHING) & (loud > 0.05) & (ratio < rows.limit("remaining"))
    zero = varied & (_never(rows, size) | _headless(rows))
    zero &= loud > 0.05
    evidence = rows.level("small", small, size.fresh)
    fires = zero | (small & (evidence >= rows.alarm) & ~mastered(rows))
    since = np.where(zero, 0, rows.streak("since", small, size.fresh))
    return Judgement(
        fires=fires, holds=small | zero, log_evidence=np.where(zero, np.inf, evidence), critical=zero, since=since
    )


def _size(rows: Rows) -> Series:
    """Size of the advantages in each row by the first measure that it logs."""
    values, fresh = np.full(len(rows), np.nan), np.zeros(len(rows), dtype=bool)
    for name in SIZES:
        one = rows.series(name)
        new = one.fresh & ~fresh
        values, fresh = np.where(new, np.abs(one.values), values), fresh | new
    return Series(values=values, fresh=fresh)


def _never(rows: Rows, size: Series) -> BoolArray:
    """(n,) whether no advantage of the run has been anything but zero, over enough rows."""
    count = rows.count("sizes", size.fresh)
    return (count >= rows.limit("rows")) & (
        rows.carried_max("largest", np.where(size.fresh, size.values, np.nan)) <= NOTHING
    )


def _headless(rows: Rows) -> BoolArray:
    """(n,) whether mean advantage, policy loss and value loss have all been exactly zero: value and return are one."""
    out = np.ones(len(rows), dtype=bool)
    for name in ("advantage_mean", "policy_loss", "value_loss"):
        out &= (rows.observations(name) >= rows.limit("rows")) & ~rows.measured(name)
    return out
