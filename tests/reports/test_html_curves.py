"""Decimation loses no spike, whatever the series; smoothing starts from means that weigh every row the same."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rlprobe.reports.html.curves import averages, curve, extremes

ANY = st.floats(allow_nan=False, allow_infinity=False)
SERIES = hnp.arrays(np.float64, st.integers(1, 400), elements=ANY)
BUCKETS = st.integers(1, 60)


@settings(deadline=None)
@given(SERIES, BUCKETS, st.data())
def test_the_extremes_of_every_stretch_of_buckets_stay(values, buckets, data):
    kept = extremes(values, buckets)
    width = 1 if len(values) <= 2 * buckets else -(-len(values) // buckets)
    stretches = -(-len(values) // width)
    first = data.draw(st.integers(0, stretches - 1))
    last = data.draw(st.integers(first, stretches - 1))
    stretch = slice(first * width, (last + 1) * width)

    inside = values[kept[(kept >= stretch.start) & (kept < stretch.stop)]]
    assert inside.min() == values[stretch].min()
    assert inside.max() == values[stretch].max()


@settings(deadline=None)
@given(SERIES, BUCKETS)
def test_what_is_kept_is_in_order_short_and_spans_the_series(values, buckets):
    kept = extremes(values, buckets)

    assert (np.diff(kept) > 0).all()
    assert kept[0] == 0
    assert kept[-1] == len(values) - 1
    assert len(kept) <= 2 * buckets + 2
    if len(values) <= 2 * buckets:
        assert len(kept) == len(values)


@settings(deadline=None)
@given(hnp.arrays(np.float64, st.integers(1, 400), elements=st.floats(-1e6, 1e6)), BUCKETS)
def test_bucket_means_are_the_means_of_their_rows(values, buckets):
    steps = np.arange(len(values), dtype=np.int64) * 3
    middles, means = averages(steps, values, buckets)
    width = -(-len(values) // buckets)

    for place, (middle, mean) in enumerate(zip(middles, means, strict=True)):
        part = slice(place * width, (place + 1) * width)
        assert steps[part].min() <= middle <= steps[part].max()
        assert np.isclose(mean, values[part].mean(), rtol=1e-9, atol=1e-6)


def test_the_largest_floats_have_a_mean():
    _, means = averages(np.arange(8), np.full(8, 1.7e308), 2)

    assert np.isfinite(means).all()


@settings(deadline=None)
@given(hnp.arrays(np.float64, st.integers(0, 200), elements=st.floats()), st.data())
def test_a_curve_has_the_finite_logged_values_and_counts_the_others(values, data):
    logged = data.draw(hnp.arrays(np.bool_, len(values)))
    one = curve("loss", np.arange(len(values), dtype=np.int64), values, logged, 20)

    assert np.isfinite(one.values).all()
    assert one.rows == int((logged & np.isfinite(values)).sum())
    assert one.not_finite_count == int((logged & ~np.isfinite(values)).sum())
    assert set(one.steps.tolist()) <= set(np.flatnonzero(logged).tolist())


def test_only_what_has_a_mean_over_rows_is_smoothed():
    steps, values = np.arange(500), np.linspace(0.0, 1.0, 500)
    curves = {name: curve(name, steps, values, np.ones(500, dtype=bool), 20) for name in ("loss", "kl_max", "anything")}
    schedules = [
        curve(name, steps, values, np.ones(500, dtype=bool), 20) for name in ("learning_rate", "rank_slowest", "epoch")
    ]

    assert all(one.smooth and len(one.means) == 20 for one in curves.values())
    assert not any(one.smooth or len(one.means) for one in schedules)
    assert all(one.values.max() == 1.0 for one in schedules)
