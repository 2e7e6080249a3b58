"""Which parameter plays which role, and what is said where that cannot be told."""

import functools

import numpy as np
import pytest

from rlprobe import Pipeline, verify
from rlprobe.verifier.subject import Subject, Unavailable


def centred(rewards, group_size):
    grouped = np.asarray(rewards).reshape(-1, group_size)
    return (grouped - grouped.mean(axis=1, keepdims=True)).reshape(-1)


REWARDS = np.array([0.0, 1.0, 2.0, 3.0, 1.0, 1.0, 1.0, 5.0])
EXPECTED = centred(REWARDS, 4)


class Estimator:
    def __call__(self, scores, num_generations):
        return centred(scores, num_generations)

    def method(self, r, n):
        return centred(r, n)


def by_ids(rewards, group_ids):
    out = np.zeros(len(rewards))
    for one in set(group_ids.tolist()):
        chosen = group_ids == one
        out[chosen] = rewards[chosen] - rewards[chosen].mean()
    return out


def on_lists(rewards: list, group_size: int) -> list:
    assert isinstance(rewards, list)
    return centred(rewards, group_size).tolist()


def matrix(rewards):
    return rewards - rewards.mean(axis=1, keepdims=True)


def keywords_only(*, reward, k):
    return centred(reward, k)


def with_defaults(rewards, group_size=4, debug=False, logger=None):
    return {"metrics": 1, "advantages": centred(rewards, group_size)}


def with_more(rewards, group_size, scale, **kwargs):
    return (centred(rewards, group_size) * scale, kwargs)


@pytest.mark.parametrize(
    "function",
    [
        centred,
        Estimator(),
        Estimator().method,
        by_ids,
        on_lists,
        matrix,
        keywords_only,
        with_defaults,
        functools.partial(with_more, scale=1.0),
        lambda first, second: centred(first, second),
    ],
    ids=lambda function: getattr(function, "__name__", type(function).__name__),
)
def test_every_usual_form_of_an_advantage_function_is_understood(function):
    advantages = Subject(Pipeline(advantages=function)).advantages()

    assert advantages(REWARDS, 4) == pytest.approx(EXPECTED)


def test_a_foreign_name_is_said_to_be_bound_by_position():
    report = verify(Pipeline(advantages=lambda first, second: centred(first, second)), only="V201")

    (told,) = report.bindings
    assert told.startswith("advantages: first as rewards (by position), second as group_size (by position)")
    assert told.endswith("group_size assumed 4")


def test_an_explicit_map_stands_above_names():
    swapped = Pipeline(
        advantages=lambda rewards, group_size: centred(group_size, rewards),
        map={"advantages": {"rewards": "group_size", "group_size": "rewards"}},
    )

    assert Subject(swapped).advantages()(REWARDS, 4) == pytest.approx(EXPECTED)


def test_a_required_parameter_without_a_role_is_named_and_the_way_to_map_it():
    report = verify(Pipeline(advantages=with_more), only="V201")

    (result,) = report.results
    assert result.status == "not_checkable"
    assert '"scale"' in result.outcome.statement
    assert "map=" in result.outcome.statement


def test_what_is_no_function_is_told():
    with pytest.raises(Unavailable, match="expected a function, got int"):
        Subject(Pipeline(advantages=3)).function("advantages")


def test_an_exception_of_the_users_is_a_failure_once_and_a_reason_after():
    def broken(rewards, group_size):
        raise KeyError("no such column")

    report = verify(Pipeline(advantages=broken), only="advantages")

    (failure,) = report.failures
    assert "KeyError" in failure.outcome.statement
    assert "test_binding.py" in failure.outcome.statement
    rest = [result for result in report.results if result is not failure and "advantages" in result.check.needs]
    assert rest
    assert all(f"told at {failure.id}" in result.outcome.statement for result in rest)


def test_a_declared_value_reaches_a_parameter_that_is_off_by_default():
    seen = []

    def loss(logprobs, old_logprobs, advantages, mask, ref_logprobs, beta=0.0, epsilon=0.3):
        seen.append((beta, epsilon))
        return float((np.asarray(logprobs) * np.asarray(mask)).sum())

    subject = Subject(Pipeline(loss=loss, declare={"kl_coefficient": 0.04, "clip": 0.2}))
    subject.function("loss")

    assert set(seen) == {(0.04, 0.3)}
