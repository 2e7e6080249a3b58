"""The fall from the best block: chunks do not matter, and a slow twin agrees."""

from itertools import pairwise

import numpy as np
from hypothesis import given

from rlprobe.doctor.evidence.blocks import FIRST, Fall, HistoryState, block_fall
from tests.reference.blocks import block_fall_slow
from tests.support.strategies import cuts, series

NAMES = tuple(Fall.__dataclass_fields__)


@given(x=series, at=cuts)
def test_any_chunking_gives_the_same_fall_to_the_last_bit(x: np.ndarray, at: list[int]) -> None:
    whole, _ = block_fall(x, HistoryState.start())
    state, parts = HistoryState.start(), []
    edges = [0, *sorted(min(cut, len(x)) for cut in at), len(x)]
    for low, high in pairwise(edges):
        part, state = block_fall(x[low:high], state)
        parts.append(part)

    for name in NAMES:
        joined = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(joined, getattr(whole, name))


def test_the_slow_twin_agrees_on_noise_trends_and_falls() -> None:
    draw = np.random.default_rng(5)
    for course in (np.zeros(90), np.linspace(0, 3, 90), np.where(np.arange(90) < 60, 2.0, -1.0)):
        x = course + 0.3 * draw.standard_normal(90)
        fast, _ = block_fall(x, HistoryState.start())
        slow = np.array(block_fall_slow(list(x)))

        for column, name in enumerate(NAMES):
            np.testing.assert_allclose(getattr(fast, name), slow[:, column], rtol=1e-6, atol=1e-9)


def test_a_fall_is_seen_and_a_constant_is_none() -> None:
    fallen = np.concatenate([np.tile([0.9, 1.1], 30), np.tile([-0.1, 0.1], 20)])

    assert block_fall(fallen, HistoryState.start())[0].z[-1] > 6
    assert block_fall(np.full(60, 7.0), HistoryState.start())[0].z[-1] == 0


def test_nothing_is_said_of_a_short_history() -> None:
    fall, _ = block_fall(np.arange(FIRST - 1.0), HistoryState.start())

    assert np.isnan(fall.z).all()
    assert len(block_fall(np.empty(0), HistoryState.start())[0].z) == 0
