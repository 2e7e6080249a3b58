"""One row of KL or gradient norm stands far above the rest and the next ones are back: one batch can do that."""

from dataclasses import dataclass

import numpy as np

from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.rows import Rows
from rlprobe.recording.run import BoolArray, FloatArray

HEIGHT = 10.0  # times the level of the rows before it
BACK = 3.0  # times the level before the spike: after it, every row is below this
LEVEL_ROWS = 9  # rows that the level before a spike is the median of
QUIET = 10  # rows after the spike that must be back
LONG_AGO = 100  # rows after which nobody asks about a spike
SPIKES = 2  # rows; more of them are a pattern
METRICS = ("kl_mean", "grad_norm")

NORMAL = Normal(
    id="ISOLATED_SPIKE",
    title="One spike that came back is one odd batch",
    worry="A single row of KL or gradient norm is ten or more times what it was before.",
    asks="The next rows are back at the level before it and stay there, and it happened once or twice in the run.",
    explanation=(
        "In {metrics} one row reached {height} times its level at step {step} and the {rows} rows since are back. A rare prompt or "
        "one long sample does that; clipping the gradient norm keeps its effect small. Many of them would be a pattern."
    ),
    requires=("kl_mean|grad_norm",),
    shows=METRICS,
    unless=(
        "KL_BLOWUP", "GRAD_PATHOLOGY", "NUMERIC_NAN", "REWARD_COLLAPSE", "REWARD_STD_DEATH", "REFERENCE_MISMATCH",
        "VALUE_DIVERGENCE", "LENGTH_COLLAPSE", "ENTROPY_COLLAPSE", "ENTROPY_EXPLOSION",
    ),
    weight=6,
)  # fmt: skip


def judge(rows: Rows) -> Normality:
    """Holds while the newest spike of either metric is followed by QUIET rows at the level before it."""
    kl, gradient = (_spike(rows, name) for name in METRICS)
    height, row, step = (np.where(kl.calm, mine, other) for mine, other in zip(kl.place, gradient.place, strict=True))
    return Normality(
        holds=kl.calm | gradient.calm,
        about={"kl_mean": kl.calm, "grad_norm": gradient.calm & ~kl.calm},
        facts={"height": height, "step": step, "rows": rows.index.astype(np.float64) - row},
    )


@dataclass(frozen=True, slots=True)
class _Spike:
    """The newest spike of a metric: whether it is over, and (height in levels, row, step), NaN while there is none."""

    calm: BoolArray
    place: tuple[FloatArray, FloatArray, FloatArray]


def _spike(rows: Rows, name: str) -> _Spike:
    series = rows.series(name)
    before = rows.earlier(f"{name} level", rows.smooth(name, LEVEL_ROWS), series.fresh, lag=1)
    known = series.fresh & (rows.observations(name) > LEVEL_ROWS) & (before > 0)
    high = known & (series.values >= HEIGHT * before)
    level, height, row, step = (
        rows.recent(f"{name} {what}", values, high, width=1)  # as it was at the newest spike
        for what, values in (
            ("before", before),
            ("height", series.values / np.where(before > 0, before, 1.0)),
            ("row", rows.index.astype(np.float64)),
            ("step", rows.steps.astype(np.float64)),
        )
    )
    away = series.fresh & ~high & (series.values > BACK * level)
    last_away = rows.recent(f"{name} away", rows.index.astype(np.float64), away, width=1)
    since = rows.index - row
    calm = (since >= QUIET) & (since <= LONG_AGO) & (rows.count(f"{name} spikes", high) <= SPIKES)
    return _Spike(calm & ~(last_away > row + 1), (height, row, step))
