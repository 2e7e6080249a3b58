pytest_plugins = ["pytester"]

MODULE = """
import numpy as np
import pytest
from rlprobe import Pipeline


def advantages(rewards, group_size):
    grouped = rewards.reshape(-1, group_size)
    return ({expression}).reshape(-1)


@pytest.fixture(scope="module")
def rlprobe_pipeline():
    return Pipeline(advantages=advantages, declare={{"baseline": "group"}})


def test_invariant(rlprobe_check):
    rlprobe_check.require()
"""


def outcomes(pytester, expression):
    pytester.makepyfile(MODULE.format(expression=expression))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", "ignore")
    return result.parseoutcomes(), "\n".join(result.outlines)


def test_one_test_a_check_fails_where_the_invariant_is_violated(pytester):
    counted, told = outcomes(pytester, "grouped.mean(axis=1, keepdims=True) - grouped")

    assert counted["failed"] >= 1
    assert counted["passed"] >= 1
    assert counted["skipped"] > 50
    assert "test_invariant[V203]" in told
    assert "What to try" in told


def test_correct_code_passes(pytester):
    counted, _ = outcomes(pytester, "grouped - grouped.mean(axis=1, keepdims=True)")

    assert "failed" not in counted
    assert counted["passed"] > 5
