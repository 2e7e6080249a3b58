"""Condensed rows equal their definition, block by block, however the run came."""

from itertools import pairwise

import numpy as np
import pytest

from rlprobe.doctor.condense import BLOCK, FULL, Condensed
from rlprobe.recording.run import Batch, MemoryFeed, Run

NAMES = ("reward_mean", "reward_max", "reward_min", "kl_mean")  # means, a largest and a smallest value
ROWS = FULL + 40 * BLOCK + 3


def _columns(seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Columns with holes, NaN and infinities around the edge of the blocks; the last one begins late."""
    rng = np.random.default_rng(seed)
    out = {}
    for name in NAMES:
        values, logged = rng.normal(size=ROWS), rng.random(ROWS) < 0.9
        near = np.arange(FULL - 50, ROWS)
        values[rng.choice(near, 60)] = rng.choice([np.nan, np.inf, -np.inf], 60)
        logged[FULL + 5 * BLOCK : FULL + 7 * BLOCK] = False
        out[name] = (values, logged)
    out["kl_mean"][1][: FULL + 9] = False
    return {name: (np.where(logged, values, np.nan), logged) for name, (values, logged) in out.items()}


def _expected(name: str, values: np.ndarray, logged: np.ndarray) -> tuple[list[float], list[int]]:
    edges = [*range(FULL), *range(FULL, ROWS - BLOCK + 1, BLOCK), FULL + (ROWS - FULL) // BLOCK * BLOCK]
    reduce = {"reward_max": max, "reward_min": min}.get(name, lambda xs: sum(xs) / len(xs))
    cells = list(zip(values.tolist(), logged.tolist(), np.isfinite(values).tolist(), strict=True))
    levels, broken = [], []
    for low, high in pairwise(edges):
        finite = [x for x, _, counts in cells[low:high] if counts]
        levels.append(reduce(finite) if finite else np.nan)
        broken.append(sum(told and not counts for _, told, counts in cells[low:high]))
    return levels, broken


@pytest.mark.parametrize("cuts", [(), (FULL - 1, FULL + 1, FULL + 2 * BLOCK, FULL + 3 * BLOCK + 5)])
def test_rows_and_blocks_hold_the_finite_values_and_count_the_others(cuts: tuple[int, ...]) -> None:
    columns = _columns(len(cuts))
    feed = MemoryFeed("cut", [])
    run = Run(feed)
    condensed = Condensed(run)
    for low, high in pairwise([0, *cuts, ROWS]):
        part = {name: (values[low:high], logged[low:high]) for name, (values, logged) in columns.items()}
        part = {name: pair for name, pair in part.items() if pair[1].any()}
        feed.batches.append(Batch(steps=np.arange(low, high), columns=part))
        run.refresh()
        condensed.extend(run.complete)
        for name in NAMES:
            condensed.values(name)

    for name in NAMES:
        levels, broken = _expected(name, *columns[name])
        np.testing.assert_allclose(condensed.values(name), levels, rtol=1e-12)
        np.testing.assert_array_equal(condensed.nonfinite(name), broken)
        assert condensed.observations(name) == np.isfinite(levels).sum()


def test_a_metric_that_the_run_lacks_is_nothing_at_every_row() -> None:
    run = Run(MemoryFeed("short", [Batch(steps=np.arange(3), columns={"reward_mean": (np.ones(3), np.ones(3, bool))})]))
    condensed = Condensed(run)
    condensed.extend(run.complete)

    np.testing.assert_array_equal(condensed.values("kl_mean"), [np.nan] * 3)
    np.testing.assert_array_equal(condensed.nonfinite("kl_mean"), [0.0] * 3)
    assert condensed.observations("kl_mean") == 0
