"""Statistics of samples against a slow twin, and by hand."""

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.recorder.group_statistics import rank_correlation
from rlprobe.recorder.sample_rows import sample_block
from rlprobe.recorder.statistics import StepStatistics
from rlprobe.recording.metrics import find


def statistics_of(rows: list[dict[str, object]]) -> dict[str, float]:
    block = sample_block(rows)
    found = StepStatistics()
    found.add(0, block.columns, block.rows)
    return found.due() or {}


def slow_ranks(values: list[float]) -> list[float]:
    return [sum(o < v for o in values) + (sum(o == v for o in values) - 1) / 2 for v in values]


def slow_rank_correlation(x: list[float], y: list[float], groups: list[int]) -> float:
    members = defaultdict(list)
    for index, group in enumerate(groups):
        members[group].append(index)
    found = []
    for indexes in members.values():
        one, other = slow_ranks([x[i] for i in indexes]), slow_ranks([y[i] for i in indexes])
        if len(indexes) >= 3 and len(set(one)) > 1 and len(set(other)) > 1:
            found.append(float(np.corrcoef(one, other)[0, 1]))
    return sum(found) / len(found) if found else math.nan


_ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(0, 2)), max_size=24)


@pytest.mark.slow
@given(_ROWS)
@settings(max_examples=200, deadline=None)
def test_rank_correlation_is_the_mean_of_the_groups_own(rows):
    x, y, groups = ([float(row[0]) for row in rows], [float(row[1]) for row in rows], [row[2] for row in rows])
    codes = np.unique(groups, return_inverse=True)[1].astype(np.int64) if groups else np.empty(0, np.int64)

    fast = rank_correlation(np.array(x), np.array(y), codes)

    assert fast == pytest.approx(slow_rank_correlation(x, y, groups), nan_ok=True)


ROWS = [
    {"group": "a", "prompt": "p", "completion": "one", "reward": 1.0, "advantage": 1.0, "completion_tokens": 10},
    {"group": "a", "prompt": "p", "completion": "one", "reward": 0.0, "advantage": -1.0, "completion_tokens": 20},
    {"group": "a", "prompt": "p", "completion": " ", "reward": 0.0, "advantage": -1.0, "completion_tokens": 30},
    {"group": "b", "prompt": "q", "completion": "x", "reward": 1.0, "advantage": 0.0, "completion_tokens": 5},
    {"group": "b", "prompt": "r", "completion": "y", "reward": 1.0, "advantage": 0.0, "completion_tokens": 5},
    {"group": "c", "prompt": "s", "completion": "z", "reward": float("nan"), "advantage": 0.0, "completion_tokens": 5},
    {"group": "c", "prompt": "s", "completion": "z", "reward": None, "advantage": 0.0, "completion_tokens": 5},
]


def test_statistics_of_a_batch_by_hand():
    found = statistics_of(ROWS)

    assert found["samples_count"] == 7
    assert found["reward_mean"] == pytest.approx(0.6)
    assert found["reward_nonfinite_count"] == 1
    assert found["reward_missing_count"] == 1
    assert found["zero_variance_group_fraction"] == 0.5
    assert found["all_right_group_fraction"] == 0.5
    assert found["all_wrong_group_fraction"] == 0.0
    assert found["mixed_prompt_group_fraction"] == pytest.approx(1 / 3)
    assert found["duplicate_fraction"] == pytest.approx((1 / 3 + 0 + 1 / 2) / 3)
    assert found["empty_fraction"] == pytest.approx(1 / 7)
    assert found["completion_tokens_right_mean"] == 10
    assert found["completion_tokens_wrong_mean"] == 25
    assert found["length_reward_correlation"] == pytest.approx(slow_rank_correlation([10, 20, 30], [1, 0, 0], [0] * 3))
    assert found["advantage_reward_disagreement_fraction"] == 0.0
    assert found["group_size_min"] == 2


def test_every_statistic_has_a_canonical_name_and_lies_in_its_range():
    rows = [
        {**row, "rewards": {"f": 1.0}, "truncated": n == 0, "right": n % 2 == 0, "logprob": -0.5, "kl": 0.1,
         "stop_reason": "eos", "entropy": 1.0, "ratio_max": 1.5, "ratio_mean": 1.0, "token_kl": np.ones(8),
         "prompt_tokens": 4, "staleness": 1.0}
        for n, row in enumerate(ROWS)
    ]  # fmt: skip
    found = statistics_of(rows)

    assert len(found) > 40
    for name, value in found.items():
        metric = find(name)
        assert metric is not None, name
        assert metric.low is None or value >= metric.low, name
        assert metric.high is None or value <= metric.high, name


def test_a_reversed_advantage_is_counted():
    rows = [{"group": "a", "reward": float(n), "advantage": 1.5 - n} for n in range(4)]

    assert statistics_of(rows)["advantage_reward_disagreement_fraction"] == 1.0


def test_repetition_is_the_fraction_of_four_grams_seen_before():
    assert statistics_of([{"completion": "a b c d a b c d"}])["repetition_fraction"] == pytest.approx(1 / 5)
    assert "repetition_fraction" not in statistics_of([{"completion": "a b"}])


_NAMES = ["reward", "advantage", "completion_tokens", "completion", "group", "prompt", "truncated", "right", "token_kl"]
_ANYTHING = st.one_of(
    st.none(), st.floats(), st.integers(), st.text(max_size=5), st.booleans(), st.lists(st.floats(), max_size=3)
)


@pytest.mark.slow
@given(st.lists(st.dictionaries(st.sampled_from(_NAMES), _ANYTHING), max_size=8))
@settings(max_examples=300, deadline=None)
def test_no_rows_make_the_statistics_raise_or_give_nan(rows):
    assert all(value == value for value in statistics_of(rows).values())
