"""Losses in numpy and lists of every usual form raise no alarm; what cannot be checked is told with its reason."""

import math
from functools import partial

import numpy as np
import pytest

from rlprobe import verify
from rlprobe.verifier.pipeline import Pipeline
from tests.support.spread import spread


def _report(only="V4", **slots):
    return {result.id: result.outcome for result in verify(Pipeline(**slots), only=only).results}


def _failing(**slots):
    return [(identity, one.statement) for identity, one in _report(**slots).items() if one.status == "fail"]


def _gain(logprobs, old_logprobs, advantages, low=0.2, high=0.2):
    ratio = np.exp(logprobs - old_logprobs)
    return np.minimum(ratio * advantages, np.clip(ratio, 1 - low, 1 + high) * advantages)


def by_lists(logprobs: list, old_logprobs: list, advantages: list, mask: list):
    total = 0.0
    for now, old, advantage, shown in zip(logprobs, old_logprobs, advantages, mask, strict=True):
        gains = [
            min(math.exp(x - y) * advantage, max(min(math.exp(x - y), 1.2), 0.8) * advantage)
            for x, y, counts in zip(now, old, shown, strict=True)
            if counts
        ]
        total -= sum(gains) / max(len(gains), 1)
    return total / len(logprobs)


def in_float32(logprobs, old_logprobs, advantages, mask):
    one, other = np.float32(logprobs), np.float32(old_logprobs)
    gain = _gain(one, other, np.float32(advantages)[:, None], np.float32(0.2), np.float32(0.2))
    return (-gain * np.float32(mask)).sum(dtype=np.float32) / np.float32(mask).sum(dtype=np.float32)


def with_settings(logprobs, old_logprobs, advantages, mask, epsilon):
    return {"ratio": 1.0, "loss": -(_gain(logprobs, old_logprobs, advantages[:, None], epsilon, epsilon)[mask]).mean()}


def without_mask(logp, old_logp, adv):
    return -_gain(logp, old_logp, adv[:, None]).mean()


def by_token_advantages(logprobs, old_logprobs, advantages, mask):
    assert advantages.shape == logprobs.shape
    return -(_gain(logprobs, old_logprobs, advantages) * mask).sum() / max(mask.sum(), 1)


class OfAClass:
    def __call__(self, logprobs, old_logprobs, advantages, mask, ref_logprobs=None, beta=0.0):
        per_token = -_gain(logprobs, old_logprobs, advantages[:, None])
        if beta and ref_logprobs is not None:
            per_token = per_token + beta * (logprobs - ref_logprobs)
        return (per_token * mask).sum() / mask.sum(), {}


@pytest.mark.parametrize(
    ("loss", "declare"),
    spread(
        [
            (by_lists, {"algorithm": "grpo", "epsilon": 0.2, "loss_type": "grpo"}),
            (in_float32, {"algorithm": "dapo", "epsilon": 0.2}),
            (partial(with_settings, epsilon=0.3), {"algorithm": "ppo"}),
            (with_settings, {"algorithm": "ppo", "clip_range": 0.1}),
            (without_mask, {"algorithm": "ppo", "clip": 0.2}),
            (by_token_advantages, {"algorithm": "ppo", "aggregation": "token_mean"}),
            (OfAClass(), {"algorithm": "grpo", "beta": 0.0}),
            (OfAClass(), {"algorithm": "grpo", "beta": 0.04, "kl_estimator": "k1"}),
        ],
        few=3,
    ),
    ids=["lists", "float32", "partial-dict", "declared-clip", "no-mask", "advantage-a-token", "beta-0", "k1"],
)
def test_a_correct_loss_of_any_form_has_no_failing_check(loss, declare):
    assert _failing(loss=loss, declare=declare) == []


def test_a_loss_that_normalises_advantages_is_not_checkable_with_its_reason():
    def loss(logprobs, old_logprobs, advantages, mask):
        scaled = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        return -(_gain(logprobs, old_logprobs, scaled[:, None]) * mask).sum() / mask.sum()

    outcome = _report(loss=loss)["V402"]

    assert outcome.status == "not_checkable"
    assert "normalises advantages itself" in outcome.statement


def test_a_stop_gradient_in_numpy_is_not_checkable_with_its_reason():
    def cispo(logprobs, old_logprobs, advantages, mask):
        weight = np.minimum(np.exp(logprobs - old_logprobs), 3.0)
        return -(weight * advantages[:, None] * logprobs * mask).sum() / mask.sum()

    outcome = _report(loss=cispo, declare={"algorithm": "cispo"})["V402"]

    assert outcome.status == "not_checkable"
    assert "autograd" in outcome.statement


def test_a_loss_without_a_mask_is_not_asked_about_padding():
    report = _report(loss=without_mask)

    assert {report[identity].status for identity in ("V403", "V404", "V405", "V419", "V424")} == {"not_applicable"}


def test_a_loss_that_raises_is_told_once():
    def loss(logprobs, old_logprobs, advantages, mask):
        raise ZeroDivisionError("no batch")

    report = _report(loss=loss)
    failing = [one for one in report.values() if one.status == "fail"]

    assert len(failing) == 1
    assert "ZeroDivisionError: no batch" in failing[0].statement


def test_a_loss_that_gives_no_number_is_a_failure():
    assert _failing(loss=lambda logprobs, old_logprobs, advantages, mask: None)
    assert _failing(loss=lambda logprobs, old_logprobs, advantages, mask: "nan")
    assert _failing(loss=lambda logprobs, old_logprobs, advantages, mask: float("nan"))


def test_the_failing_input_is_shrunk_and_fails_by_itself():
    def loss(logprobs, old_logprobs, advantages, mask):
        return (_gain(logprobs, old_logprobs, advantages[:, None]) * mask).sum() / mask.sum()

    outcome = _report(only="V402", loss=loss)["V402"]

    assert outcome.fingerprint == "sign flipped"
    assert len(outcome.example["advantages"]) == 1
    moved = outcome.example | {"logprobs": outcome.example["logprobs"] + 1e-4}
    change = loss(**moved) - loss(**outcome.example)
    assert np.sign(change) == np.sign(outcome.example["advantages"][0])


@pytest.mark.slow
def test_the_same_seed_gives_the_same_words():
    loss = partial(with_settings, epsilon=0.3)
    first, second = (_report(loss=loss, declare={"epsilon": 0.2}) for _ in range(2))

    assert {k: (v.status, v.statement, v.got) for k, v in first.items()} == {
        k: (v.status, v.statement, v.got) for k, v in second.items()
    }
    assert first["V412"].status == "fail"


@pytest.mark.parametrize("seed", spread(range(5), few=1))
def test_no_seed_gives_an_alarm(seed):
    report = verify(Pipeline(loss=OfAClass(), declare={"algorithm": "ppo", "clip": 0.2}), only="V4", seed=seed)

    assert [one.outcome.statement for one in report.failures] == []
