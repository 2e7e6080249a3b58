import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.importers.rows.values import ABSENT, BAD, NULL, NUMBER, column, number


@pytest.mark.parametrize(
    "spelling",
    [
        "nan",
        "NaN",
        "-nan",
        "tensor(nan)",
        "np.float64(nan)",
        "tensor(nan, device='cuda:0')",
        "np.float32(nan)",
        math.nan,
    ],
)
def test_nan_is_a_logged_number_however_it_is_spelled(spelling: object) -> None:
    value, state = number(spelling)

    assert state == NUMBER
    assert math.isnan(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("inf", math.inf), ("-Infinity", -math.inf), ("1e-06", 1e-6), ("12%", 0.12), ("np.int64(3)", 3.0),
        ("tensor(0.5, device='cuda:0')", 0.5), ("array(1.5, dtype=float32)", 1.5), (" 7 ", 7.0), (True, 1.0),
        ([0.5], 0.5), (10**400, math.inf),
    ],
)  # fmt: skip
def test_numbers_are_read_from_what_loggers_write(text: object, value: float) -> None:
    assert number(text) == (value, NUMBER)


@pytest.mark.parametrize("value", ["hello", "0x10", "1_000", "1,5", "__import__('os')", [1, 2], {}, "9" * 200])
def test_what_is_no_number_is_bad_and_not_guessed(value: object) -> None:
    assert number(value)[1] == BAD


@pytest.mark.parametrize(("value", "state"), [(None, NULL), ("", NULL), ("None", NULL), ("No Log", ABSENT)])
def test_nothing_is_told_from_null(value: object, state: int) -> None:
    assert number(value)[1] == state


@settings(max_examples=60)
@given(st.lists(st.one_of(st.floats(), st.integers(), st.none(), st.text(max_size=12), st.booleans()), min_size=1))
def test_a_column_reads_as_its_values_one_by_one(values: list[object]) -> None:
    numbers, states = column(tuple(values))

    alone = [number(value) for value in values]
    assert states.tolist() == [state for _, state in alone]
    np.testing.assert_array_equal(numbers, np.array([value for value, _ in alone]))
