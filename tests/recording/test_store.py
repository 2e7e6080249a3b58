"""A Run reads the same whether its rows are kept as they came or entered one by one."""

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rlprobe.recording import store
from rlprobe.recording.run import Batch, MemoryFeed, Run

NAMES = ("reward_mean", "kl_mean", "entropy_mean")
NEVER = 1 << 40  # rows of a batch: no test has that many, so nothing is kept as it came

_counts = st.integers(1, 9)
_rows = st.tuples(_counts, st.sampled_from([1, 1, 1, 0, -3]), st.booleans(), st.integers(0, 10**6))
_batches = st.lists(_rows, max_size=8)


def _batch(first: int, count: int, seed: int, *, complete: bool) -> Batch:
    """Rows with gaps, NaN among what was logged and numbers where nothing was; not every metric is there."""
    rng = np.random.default_rng(seed)
    columns = {}
    for name in NAMES:
        values, logged = rng.normal(size=count), rng.random(count) < rng.choice([0.0, 0.5, 1.0])
        values[rng.random(count) < 0.2] = np.nan
        if rng.random() < 0.7:
            columns[name] = (values, logged)
    return Batch(steps=np.arange(first, first + count), columns=columns, complete=complete)


def _fed(batches: list[tuple[int, int, bool, int]], bulk: int) -> Run:
    """A run to which the batches came one after the other: each follows the last row, amends it, or goes back."""
    feed = MemoryFeed("made", [])
    run, last = Run(feed), 0
    for count, onward, complete, seed in batches:
        first = max(1, last + onward)
        feed.batches.append(_batch(first, count, seed, complete=complete))
        last = first + count - 1
        with patch.object(store, "BULK", bulk):
            run.refresh()
            if seed % 5 == 0 and run.rows:
                run.column(NAMES[seed % 3])  # a reader that wants the whole column in between
    return run


@given(batches=_batches)
def test_what_came_in_bulk_reads_like_what_came_row_by_row(batches: list[tuple[int, int, bool, int]]) -> None:
    kept, entered = _fed(batches, 2), _fed(batches, NEVER)

    assert kept.metrics == entered.metrics
    np.testing.assert_array_equal(kept.steps, entered.steps)
    for name in (*NAMES, "grad_norm"):
        assert kept.begins(name) == entered.begins(name)
        for first in range(0, kept.rows, 4):
            for one, other in zip(kept.part(name, first, kept.rows), entered.part(name, first, kept.rows), strict=True):
                np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(kept.column(name), entered.column(name))
        np.testing.assert_array_equal(kept.logged(name), entered.logged(name))
    for one, other in zip(kept.overwritten, entered.overwritten, strict=True):
        for name, pair in one.columns.items():
            np.testing.assert_array_equal(pair, other.columns[name])


@given(batches=_batches)
def test_a_column_holds_its_newest_logged_values_and_nothing_else(batches: list[tuple[int, int, bool, int]]) -> None:
    run = _fed(batches, 2)
    rows: dict[int, dict[str, float]] = {}
    last = 0
    for count, onward, complete, seed in batches:
        first = max(1, last + onward)
        batch = _batch(first, count, seed, complete=complete)
        last = first + count - 1
        amended = dict(rows.get(first, {})) if rows and first == max(rows) else {}
        rows = {step: row for step, row in rows.items() if step < first}
        rows |= {step: {} for step in range(first, first + count)}
        rows[first] |= amended
        for name, (values, logged) in batch.columns.items():
            for step, value, known in zip(batch.steps.tolist(), values.tolist(), logged.tolist(), strict=True):
                if known:
                    rows[step][name] = value

    assert run.steps.tolist() == sorted(rows)
    for name in NAMES:
        assert run.logged(name).tolist() == [name in rows[step] for step in sorted(rows)]
        np.testing.assert_array_equal(run.column(name), [rows[step].get(name, np.nan) for step in sorted(rows)])
        known = [index for index, step in enumerate(sorted(rows)) if name in rows[step]]
        assert run.begins(name) == (known[0] if known else run.rows)
