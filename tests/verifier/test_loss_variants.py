"""Correct losses of other papers and trainers, in torch, of which none is anybody's fault."""

import math

import pytest

from rlprobe import verify
from rlprobe.verifier.pipeline import Pipeline

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.trl
functional = torch.nn.functional


def _mean(values, mask):
    return (values * mask).sum() / mask.sum()


def _clipped(logprobs, old_logprobs, advantages, low=0.2, high=0.2):
    ratio = torch.exp(logprobs - old_logprobs)
    return -torch.min(ratio * advantages, ratio.clamp(1 - low, 1 + high) * advantages)


def sapo(logprobs, old_logprobs, advantages, mask):
    ratio, advantages = torch.exp(logprobs - old_logprobs), advantages[:, None]
    sharpness = torch.where(advantages > 0, 1.0, 1.05)
    return -_mean(torch.sigmoid(sharpness * (ratio - 1)) * 4 / sharpness * advantages, mask)


def gmpo(logprobs, old_logprobs, advantages, mask):
    signs = torch.sign(advantages[:, None])
    drift = signs * (logprobs - old_logprobs)
    drift = signs * torch.min(drift, drift.clamp(-0.4, 0.4))
    return -(torch.exp((drift * mask).sum(1) / mask.sum(1)) * advantages).mean()


def normalising(logprobs, old_logprobs, advantages, mask):
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    return _mean(_clipped(logprobs, old_logprobs, advantages[:, None]), mask)


def straight_through(logprobs, old_logprobs, advantages, mask, ref_logprobs, beta=0.01):
    difference = ref_logprobs - logprobs
    forward, backward = difference.exp() - difference - 1, 0.5 * difference**2
    estimate = backward - backward.detach() + forward.detach()
    return _mean(_clipped(logprobs, old_logprobs, advantages[:, None]) + beta * estimate, mask)


def kl_times_ratio(logprobs, old_logprobs, advantages, mask, ref_logprobs, beta=0.01):
    difference, ratio = ref_logprobs - logprobs, torch.exp(logprobs - old_logprobs)
    estimate = (difference.exp() - difference - 1) * ratio
    return _mean(_clipped(logprobs, old_logprobs, advantages[:, None]) + beta * estimate, mask)


def kl_clamped(logprobs, old_logprobs, advantages, mask, ref_logprobs, beta=0.01):
    difference = (ref_logprobs - logprobs).clamp(-20, 20)
    estimate = (difference.exp() - difference - 1).clamp(-10, 10)
    return _mean(_clipped(logprobs, old_logprobs, advantages[:, None]) + beta * estimate, mask)


def mirror_descent(logprobs, old_logprobs, advantages, mask):
    return _mean((advantages[:, None] - 0.1 * (logprobs - old_logprobs)) ** 2, mask) / 0.2


def band_pass(logprobs, old_logprobs, advantages, mask, importance_ratio):
    weight = torch.where((importance_ratio < 0.5) | (importance_ratio > 5), 0.0, importance_ratio)
    return _mean(_clipped(logprobs, old_logprobs, advantages[:, None]) * weight, mask)


def truncated(logprobs, old_logprobs, advantages, mask, rollout_is_weights):
    return _mean(_clipped(logprobs, old_logprobs, advantages[:, None]) * rollout_is_weights.clamp(max=2), mask)


def by_width(logprobs, old_logprobs, advantages, mask):
    return (_clipped(logprobs, old_logprobs, advantages[:, None]) * mask).sum(1).div(mask.shape[1]).mean()


def of_rows_that_count(logprobs, old_logprobs, advantages, mask):
    lengths = mask.sum(1)
    rows = (_clipped(logprobs, old_logprobs, advantages[:, None]) * mask).sum(1) / (lengths + 1e-8)
    counted = (lengths > 0).to(rows.dtype)
    return (rows * counted).sum() / counted.sum().clamp(min=1)


def indexed(logprobs, old_logprobs, advantages, mask):
    return _clipped(logprobs, old_logprobs, advantages[:, None])[mask.bool()].mean()


def gspo_over_tokens(logprobs, old_logprobs, advantages, mask):
    drift = ((logprobs - old_logprobs) * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True)
    ratio, advantages = torch.exp(drift), advantages[:, None]
    terms = -torch.min(ratio * advantages, ratio.clamp(1 - 3e-4, 1 + 4e-4) * advantages)
    return _mean(terms.expand_as(logprobs), mask)


def forking_tokens(logprobs, old_logprobs, advantages, mask, entropies):
    threshold = torch.quantile(entropies[mask.bool()], 0.8)
    return (_clipped(logprobs, old_logprobs, advantages[:, None]) * mask * (entropies >= threshold)).sum() / mask.sum()


def on_policy_only(logprobs, old_logprobs, advantages, mask):
    return _mean(_clipped(logprobs, logprobs.detach(), advantages[:, None]), mask)


def weighted_reinforce(logprobs, old_logprobs, advantages, mask):
    weight = torch.exp(logprobs - old_logprobs).detach().clamp(max=2)
    return _mean(-weight * advantages[:, None] * logprobs, mask)


def by_normaliser(logprobs, old_logprobs, advantages, mask, num_items_in_batch=None):
    tokens = mask.sum() if num_items_in_batch is None else num_items_in_batch
    return (_clipped(logprobs, old_logprobs, advantages[:, None]) * mask).sum() / tokens


@pytest.mark.parametrize(
    ("loss", "declare"),
    [
        (sapo, {}),
        (gmpo, {}),
        (normalising, {"algorithm": "ppo", "clip": 0.2}),
        (straight_through, {"kl_loss_type": "low_var_kl+", "kl_loss_coef": 0.01}),
        (kl_times_ratio, {"algorithm": "grpo", "beta": 0.01, "kl_estimator": "k3"}),
        (kl_clamped, {"algorithm": "grpo", "beta": 0.01, "kl_estimator": "k3"}),
        (mirror_descent, {}),
        (band_pass, {}),
        (truncated, {}),
        (by_width, {"algorithm": "dr_grpo", "loss_agg_mode": "seq-mean-token-sum-norm"}),
        (of_rows_that_count, {"algorithm": "grpo", "mask_truncated_completions": True, "loss_type": "grpo"}),
        (indexed, {}),
        (gspo_over_tokens, {"algorithm": "gspo", "clip_low": 3e-4, "clip_high": 4e-4}),
        (forking_tokens, {}),
        (on_policy_only, {"algorithm": "grpo", "inner_steps": 1, "clip": 0.2}),
        (weighted_reinforce, {}),
        (by_normaliser, {"algorithm": "dapo"}),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_a_policy_loss_of_another_paper_has_no_failing_check(loss, declare):
    _silent(loss=loss, declare=declare)


def simpo(chosen_logps, rejected_logps, beta=2.0, gamma=1.0):
    return -functional.logsigmoid(beta * (chosen_logps - rejected_logps) - gamma).mean()


def _margin(c, r, rc, rr):
    return (c - rc) - (r - rr)


def robust(c, r, rc, rr, beta=0.1, label_smoothing=0.1):
    margin = beta * _margin(c, r, rc, rr)
    plain, turned = -functional.logsigmoid(margin), -functional.logsigmoid(-margin)
    return ((plain * (1 - label_smoothing) - turned * label_smoothing) / (1 - 2 * label_smoothing)).mean()


def exo(c, r, rc, rr, beta=0.1, label_smoothing=1e-3):
    margin = beta * _margin(c, r, rc, rr)
    up = margin.sigmoid() * (functional.logsigmoid(margin) - math.log(1 - label_smoothing))
    return (up + (-margin).sigmoid() * (functional.logsigmoid(-margin) - math.log(label_smoothing))).mean()


def nca(c, r, rc, rr, beta=0.1):
    one, other = beta * (c - rc), beta * (r - rr)
    logsigmoid = functional.logsigmoid
    return (-logsigmoid(one) - 0.5 * logsigmoid(-one) - 0.5 * logsigmoid(-other)).mean()


def apo_zero(c, r, rc, rr, beta=0.1):
    return ((1 - torch.sigmoid(beta * (c - rc))) + torch.sigmoid(beta * (r - rr))).mean()


def sppo(c, r, rc, rr, beta=0.1):
    return ((c - rc - 0.5 / beta) ** 2 + (r - rr + 0.5 / beta) ** 2).mean()


def naive(c, r, rc, rr, beta=0.1):
    return -torch.log(torch.sigmoid(beta * _margin(c, r, rc, rr))).mean()


def kto_without_baseline(c, r, rc, rr, beta=0.1):
    return torch.cat([1 - torch.sigmoid(beta * (c - rc)), 1 - torch.sigmoid(-beta * (r - rr))]).mean()


@pytest.mark.parametrize(
    ("loss", "declare"),
    [
        (simpo, {"algorithm": "simpo"}),
        (robust, {"dpo_loss_type": "robust", "label_smoothing": 0.1, "dpo_beta": 0.1}),
        (robust, {}),
        (exo, {"dpo_loss_type": "exo_pair"}),
        (nca, {}),
        (apo_zero, {}),
        (sppo, {}),
        (naive, {"algorithm": "dpo", "dpo_beta": 0.1}),
        (kto_without_baseline, {"dpo_loss_type": "kto", "dpo_beta": 0.1}),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_a_preference_loss_of_another_paper_has_no_failing_check(loss, declare):
    _silent(dpo_loss=loss, declare=declare)


def huber(values, old_values, returns, mask, cliprange=0.2):
    bounded = old_values + (values - old_values).clamp(-cliprange, cliprange)
    plain = functional.huber_loss(values, returns, reduction="none")
    return _mean(torch.max(plain, functional.huber_loss(bounded, returns, reduction="none")), mask)


def by_row(values, old_values, returns, mask):
    bounded = torch.max(torch.min(values, old_values + 0.5), old_values - 0.5)
    error = torch.max((values - returns) ** 2, (bounded - returns) ** 2)
    return 0.5 * ((error * mask).sum(1) / mask.sum(1)).mean()


def plain_square(values, returns, mask):
    return _mean((values - returns) ** 2, mask)


@pytest.mark.parametrize(
    ("loss", "declare"),
    [(huber, {"value_clip": 0.2}), (by_row, {"cliprange_value": 0.5}), (plain_square, {})],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_a_value_loss_of_another_form_has_no_failing_check(loss, declare):
    _silent(value_loss=loss, declare=declare)


def k1_without_graph(logprobs, ref_logprobs):
    with torch.no_grad():
        return logprobs - ref_logprobs


def k1_masked(logprobs, ref_logprobs, mask):
    return (logprobs - ref_logprobs) * mask


def k1_averaged(logprobs, ref_logprobs, mask):
    return _mean(logprobs - ref_logprobs, mask)


def k3_in_float32(logprobs, ref_logprobs):
    difference = (ref_logprobs - logprobs).float()
    return difference.exp() - difference - 1


@pytest.mark.parametrize("kl", [k1_without_graph, k1_masked, k1_averaged, k3_in_float32])
def test_a_kl_estimate_of_another_form_has_no_failing_check(kl):
    _silent(kl=kl)


def _silent(**slots):
    report = verify(Pipeline(**slots), only="V4")

    assert [(one.id, one.outcome.statement) for one in report.failures] == []
    assert not [one.id for one in report.results if "the check itself failed" in one.outcome.statement]
