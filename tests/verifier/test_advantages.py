"""Advantages, GAE and whitening: the measures find what they were given, the bugs are found, conventions are not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.verifier.engine import verify
from rlprobe.verifier.measure import advantages_temporal
from rlprobe.verifier.measure.advantages import KNOWN, estimator, is_grouped, relative
from rlprobe.verifier.oracles import advantages as oracle
from rlprobe.verifier.pipeline import Pipeline
from rlprobe.verifier.selftest.measure import mutant_score
from rlprobe.verifier.selftest.mutants.advantages import MUTANTS
from rlprobe.verifier.subject import Subject
from tests.verifier import mutants


@pytest.mark.parametrize("mutant", mutants.cases(MUTANTS, few=10), ids=mutants.name)
def test_each_bug_of_advantages_is_found_in_its_stage(mutant):
    score = mutant_score(mutant)

    assert score.right_first, score


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(KNOWN)),
    st.sampled_from([0, 1]),
    st.sampled_from([0.0, 1e-8, 1e-4, 1e-2]),
    st.sampled_from([2, 3, 4, 7]),
)
def test_an_estimator_is_recognised_by_its_numbers(family, ddof, epsilon, size):
    baseline, scaling = family

    def advantages(rewards, group_size):
        divisor = oracle.spread(rewards, group_size, scaling, ddof)
        return oracle.centred(rewards, group_size, baseline) / (divisor + (epsilon if scaling != "none" else 0.0))

    subject = Subject(Pipeline(advantages=advantages, config={"num_generations": size}))
    found = estimator(subject)

    assert found.fits
    expected = found.values(np.arange(5.0 * size) % 3, size)
    assert relative(advantages(np.arange(5.0 * size) % 3, size), expected) < 1e-3
    assert is_grouped(subject, subject.advantages()) == (baseline in ("group", "leave_one_out"))


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=1, max_size=8),
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(-3, 3),
)
def test_the_sum_of_errors_is_the_recursion(pairs, gamma, lam, last):
    rewards, values = np.array(pairs).T
    running, following, recursive = 0.0, last, []
    for reward, value in zip(rewards[::-1], values[::-1], strict=True):
        running = reward + gamma * following - value + gamma * lam * running
        following = value
        recursive.append(running)

    assert np.allclose(oracle.gae(rewards, values, gamma, lam, last_value=last), recursive[::-1])


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 0.95), (0.9, 1.0), (0.5, 0.5), (0.99, 0.3)])
def test_fixed_constants_of_gae_are_measured(gamma, lam):
    def gae(rewards, values, mask):
        return advantages_temporal.expected({"rewards": rewards, "values": values, "mask": mask}, gamma, lam)

    subject = Subject(Pipeline(gae=gae))
    found = advantages_temporal.measured(subject)

    assert (found.gamma, found.lam) == pytest.approx((gamma, lam))
    assert not found.whitens


def _normalised(rewards, group_size, *, epsilon=1e-8):
    grouped = np.reshape(rewards, (-1, group_size))
    return ((grouped - grouped.mean(1, keepdims=True)) / (grouped.std(1, keepdims=True) + epsilon)).reshape(-1)


@pytest.mark.parametrize(
    ("epsilon", "failing"), [(1e-8, False), (1e-4, False), (1e-2, False), (0.1, True), (1.0, True)]
)
def test_a_small_epsilon_is_a_convention_and_a_large_one_a_bug(epsilon, failing):
    report = verify(
        Pipeline(advantages=lambda rewards, group_size: _normalised(rewards, group_size, epsilon=epsilon)),
        only="V208",
    )

    assert bool(report.failures) is failing
    if failing:
        measured = float(report.failures[0].outcome.fingerprint.split()[4])
        assert measured == pytest.approx(epsilon, rel=0.2)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 8, 16])
def test_a_group_size_that_only_the_function_knows_is_found(size):
    def advantages(rewards):
        return _normalised(rewards, size)

    assert Subject(Pipeline(advantages=advantages)).advantages().group_size == size
    assert not verify(Pipeline(advantages=advantages, declare={"algorithm": "grpo"}), only="advantages").failures


def test_a_running_baseline_is_told_as_not_checkable():
    class Running:
        def __init__(self):
            self.mean = 0.0

        def __call__(self, rewards):
            result = rewards - self.mean
            self.mean = 0.9 * self.mean + 0.1 * float(np.mean(rewards))
            return result

    report = verify(Pipeline(advantages=Running()), only="advantages")

    assert not report.failures
    assert any("earlier calls" in one.outcome.statement for one in report.results)


def test_a_declared_estimator_that_the_code_is_not_fails_and_an_undeclared_one_does_not():
    def advantages(rewards, group_size):
        grouped = np.reshape(rewards, (-1, group_size))
        return (grouped - grouped.mean(1, keepdims=True)).reshape(-1)

    assert not verify(Pipeline(advantages=advantages), only="advantages").failures
    assert not verify(Pipeline(advantages=advantages, config={"scale_rewards": False}), only="advantages").failures
    failures = verify(Pipeline(advantages=advantages, config={"scale_rewards": "group"}), only="advantages").failures
    assert [(one.id, one.outcome.fingerprint) for one in failures] == [("V209", "divided by none instead of group")]


def test_a_function_that_refuses_nan_is_not_blamed():
    def advantages(rewards, group_size):
        if np.isnan(rewards).any():
            raise ValueError("a reward is missing")
        return _normalised(rewards, group_size)

    assert not verify(Pipeline(advantages=advantages), only="advantages").failures


def test_a_hole_in_the_mask_is_a_warning_for_single_turn_code_and_a_failure_for_half_a_remedy():
    def gae(rewards, values, mask, gamma, lam, *, keep_value):
        weights = mask.astype(float)
        running, following, result = np.zeros(len(rewards)), np.zeros(len(rewards)), np.zeros_like(rewards)
        for t in reversed(range(rewards.shape[1])):
            delta = weights[:, t] * (rewards[:, t] - values[:, t]) + gamma * following
            running = (
                (delta + gamma * lam * running)
                if not keep_value
                else np.where(mask[:, t], delta + gamma * lam * running, running * gamma * lam)
            )
            following = np.where(mask[:, t], values[:, t], following if keep_value else 0.0)
            result[:, t] = running
        return result

    simple = verify(
        Pipeline(
            gae=lambda rewards, values, mask, gamma, lam: gae(rewards, values, mask, gamma, lam, keep_value=False)
        ),
        only="V224",
    )
    half = verify(
        Pipeline(gae=lambda rewards, values, mask, gamma, lam: gae(rewards, values, mask, gamma, lam, keep_value=True)),
        only="V224",
    )

    assert [one.id for one in simple.warnings] == ["V224"]
    assert [one.id for one in half.failures] == ["V224"]


def _turned(rewards, group_size):
    return -_normalised(rewards, group_size)


def _off_centre(rewards, group_size):
    return _normalised(rewards, group_size) + np.ptp(rewards)


def _of_neighbours(rewards, group_size):
    grouped = np.reshape(rewards, (-1, group_size))
    return (grouped - np.roll(grouped, 1, axis=0) - grouped.mean() + np.roll(grouped, 1, axis=0).mean()).reshape(-1)


@pytest.mark.parametrize(
    ("function", "check", "groups"),
    [
        (_turned, "V203", 1),
        (_off_centre, "V202", 1),
        (lambda rewards, group_size: _normalised(rewards, group_size, epsilon=1.0), "V208", 1),
        (_of_neighbours, "V203", 2),  # a group alone is its own neighbour, and all advantages are 0
    ],
)
def test_the_input_that_is_shown_is_as_few_groups_as_show_it(function, check, groups):
    (found,) = verify(Pipeline(advantages=function, declare={"baseline": "group"}), only=check).failures

    shown = found.outcome.example
    rewards, size = shown["rewards"], shown["group_size"]
    assert len(rewards) <= groups * size
    assert np.array_equal(rewards, np.round(rewards, 2))
    again = verify(Pipeline(advantages=function, declare={"baseline": "group"}), only=check).failures[0].outcome
    assert again.got == found.outcome.got
    assert np.array_equal(again.example["rewards"], rewards)
