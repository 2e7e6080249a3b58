"""A KL is slightly negative: the plain log-ratio average is an estimate that scatters around a small true value."""

import numpy as np

from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.rows import Rows
from rlprobe.recording.run import BoolArray, FloatArray

WINDOW = 20  # rows that "now" is
ROWS = 10  # rows before anything is said
SMALL = 0.02  # nats a token; a sampling setting that is left out of the scored distribution gives far more
SOME, MOST = 0.05, 0.75  # fractions of the rows below zero: more than a rounding, less than a lasting offset
METRICS = ("kl_mean", "kl_old_mean")
NEVER_NEGATIVE = ("k2", "k3")  # estimators that are squares or convex: below zero they are wrong

NORMAL = Normal(
    id="SLIGHTLY_NEGATIVE_KL",
    title="A KL just below zero is estimator noise",
    worry="The KL is negative in some rows although a KL divergence cannot be.",
    asks="Values lie on both sides of zero and close to it, and the estimator is not one that is never negative.",
    explanation=(
        "The average log-ratio of the sampled tokens (k1) has the KL as its expectation, and one batch scatters around it. "
        "{metrics} is below zero in {share} % of the last rows and was never under {lowest} nats/token."
    ),
    requires=("kl_mean|kl_old_mean",),
    shows=METRICS,
    unless=(
        "DECODE_MISMATCH", "KL_BLOWUP", "REFERENCE_MISMATCH", "TRAIN_INFER_MISMATCH", "NUMERIC_NAN", "RATIO_NOT_ONE",
        "REWARD_COLLAPSE", "STALE_ROLLOUT_WEIGHTS", "ENTROPY_EXPLOSION", "TOOL_USE_COLLAPSE",
    ),
    weight=3,
)  # fmt: skip


def judge(rows: Rows) -> Normality:
    """Holds while recent values of a KL lie on both sides of zero and none was ever far below it."""
    about: dict[str, BoolArray] = {}
    share, lowest = (np.full(len(rows), np.nan) for _ in range(2))
    for name in METRICS:
        below = _below(rows, name)
        meta, low = rows.metadata(name), rows.lowest(name)
        possible = meta.estimator not in NEVER_NEGATIVE and meta.per != "sequence"
        both = (below >= SOME) & (below <= MOST) & (rows.observations(name) >= ROWS) & possible
        about[name] = both & (low >= -SMALL) & (np.abs(rows.smooth(name, 9)) <= SMALL)
        first = about[name] & np.isnan(share)
        share, lowest = np.where(first, below, share), np.where(first, low, lowest)
    about["kl_old_mean"] &= ~about["kl_mean"]
    return Normality(
        holds=about["kl_mean"] | about["kl_old_mean"], about=about, facts={"share": 100 * share, "lowest": lowest}
    )


def _below(rows: Rows, name: str) -> FloatArray:
    series = rows.series(name)
    return rows.recent(f"{name} below", series.values < 0, series.fresh, width=WINDOW)
