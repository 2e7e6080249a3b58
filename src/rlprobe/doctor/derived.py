"""Metrics that a log lacks, worked out from those it has; the same at every row however the rows are cut."""

from dataclasses import dataclass

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.recording.run import BoolArray, FloatArray

PINNED = 3  # rows at exactly the largest length so far after which that length is a cap and not a record
OFTEN = 0.1  # fraction of the rows that must meet it: rounded lengths meet a record now and then
TIE = 1e-6  # relative difference within which two lengths are the same one
# Over rows of real runs with few samples a step, the fraction of rows whose mean length lies beyond this fraction of
# the cap is within 0.1 of the logged fraction of cut completions.
NEAR = 0.85
AT = 0.95  # the same where the largest mean length itself has to stand for the cap
BORNE_OUT = 0.6  # least mean length that bears a truncated fraction out, as a fraction of fraction times cap
SHORTEST_CAP = 32.0  # tokens; answers of a fixed short form also repeat their length exactly


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    """How much was cut, one entry a row.

    Attributes:
        values: fraction of completions cut at the cap; where it is not logged, 1 for a row at its cap and else 0, so
            that its mean over rows is a lower bound. NaN while neither the fraction nor a cap is known.
        fresh: rows that logged one.
        logged: whether the fraction itself is known at that row.
        cap: the length cap in tokens, NaN while there is no telling.
    """

    values: FloatArray
    fresh: BoolArray
    logged: BoolArray
    cap: FloatArray


def truncation(rows: Rows) -> Truncation:
    """The truncated fraction, or the sight of lengths at their cap. Carries state: ask once a signature."""
    fraction, length = rows.series("truncated_fraction"), rows.series("completion_tokens_mean")
    known, seen = _known_cap(rows), _pinned(rows, "completion_tokens_mean")
    cap = np.where(np.isnan(known), seen, known)
    near = np.where(np.isnan(known), AT, NEAR)
    guess = np.where(np.isnan(cap) | np.isnan(length.values), np.nan, length.values >= near * cap)
    logged = ~np.isnan(fraction.values)
    return Truncation(
        values=np.where(logged, fraction.values, guess),
        fresh=np.where(logged, fraction.fresh, length.fresh & ~np.isnan(guess)),
        logged=logged,
        cap=cap,
    )


def at_the_cap(rows: Rows, fraction: FloatArray, width: int) -> BoolArray:
    """(n,) whether lengths over the last `width` rows bear a truncated fraction out: a cut completion fills the cap.

    A stop token that the trainer does not know makes it count finished completions as cut. True without lengths.
    """
    length, longest = rows.mean("completion_tokens_mean", width), rows.highest("completion_tokens_max")
    return ~(length < BORNE_OUT * fraction * longest)


def _known_cap(rows: Rows) -> FloatArray:
    """(n,) the length cap in tokens as configured, else the longest completion so far once it was met again, or NaN."""
    if "max_completion_tokens" not in rows.manifest.inferred_settings:
        configured = rows.number("max_completion_tokens", 0.0)
        if configured > 0:
            return np.full(len(rows), configured)
    return _pinned(rows, "completion_tokens_max")


def _pinned(rows: Rows, name: str) -> FloatArray:
    """(n,) the metric's largest value so far where enough later rows met it exactly, NaN elsewhere."""
    series, top = rows.series(name), rows.highest(name)
    before = rows.earlier(f"cap before {name}", top, series.fresh, lag=1)
    met = series.fresh & (np.abs(series.values - before) <= TIE * before)
    times = rows.count(f"cap met {name}", met)
    often = times >= np.maximum(PINNED, OFTEN * rows.observations(name))
    return np.where(often & (top >= SHORTEST_CAP), top, np.nan)
