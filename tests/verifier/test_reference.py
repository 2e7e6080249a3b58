"""References, gradients and engines on one training step: the bugs are found, and everything is put back."""

import copy

import pytest

from rlprobe.verifier.engine import verify
from rlprobe.verifier.selftest.measure import all_mutants, mutant_score
from rlprobe.verifier.selftest.mutant import load, source_of
from rlprobe.verifier.selftest.mutants.reference import MUTANTS

pytestmark = pytest.mark.trl
USABLE = {one.id for one in all_mutants()}  # those of torch only where torch is


@pytest.mark.parametrize("mutant", [pytest.param(one, id=one.id) for one in MUTANTS if one.id in USABLE])
def test_each_bug_of_a_reference_is_found_in_its_stage(mutant):
    score = mutant_score(mutant)

    assert score.right_first, score


@pytest.mark.parametrize("name", ["tiny_lm_torch", "tiny_lora_torch", "tiny_hydra_torch", "tiny_packed_torch"])
def test_weights_optimizer_modes_and_functions_are_as_before(name):
    import torch

    pipeline = load(source_of(name), f"kept-{name}")
    modules = [pipeline.model, pipeline.ref_model]
    weights = [copy.deepcopy(one.state_dict()) for one in modules]
    modes = [[child.training for child in one.modules()] for one in modules]
    state = copy.deepcopy(pipeline.optimizer.state_dict())
    function = getattr(pipeline.train_step, "__func__", pipeline.train_step)
    scope = dict(getattr(function, "__globals__", {}))
    torch.manual_seed(123)
    expected = torch.rand(3)
    torch.manual_seed(123)

    verify(pipeline)

    assert torch.equal(torch.rand(3), expected)
    for module, before, mode in zip(modules, weights, modes, strict=True):
        assert all(torch.equal(value, before[key]) for key, value in module.state_dict().items())
        assert [child.training for child in module.modules()] == mode
        assert all(parameter.grad is None for parameter in module.parameters())
    assert str(pipeline.optimizer.state_dict()) == str(state)
    assert dict(getattr(function, "__globals__", {})) == scope


def test_an_engine_inside_the_step_is_put_back():
    import torch

    pipeline = load(source_of("tiny_lora_torch"), "engine-kept")
    ids = torch.arange(3, 9).repeat(2, 1) % 9
    before = pipeline.engine_logprobs(ids)

    verify(pipeline, only="reference")

    assert torch.equal(pipeline.engine_logprobs(ids), before)


def test_a_step_that_cannot_be_called_is_not_blamed():
    text = source_of("tiny_lm_torch").replace(
        "def train_step(model, optimizer, ids, mask, advantages, ref_model):",
        "def train_step(model, optimizer, ids):\n    ids, mask, advantages, ref_model = ids['all four']",
    )

    report = verify(load(text, "odd-batch"), only="reference")

    assert not report.failures
    assert any("could not be made" in one.outcome.statement for one in report.results)


def test_a_head_that_the_scores_do_not_use_needs_no_gradient():
    report = verify(load(source_of("tiny_hydra_torch"), "value-head"), only="V609,V617")

    assert [one.status for one in report.results] == ["pass", "pass"]


def test_a_narrow_model_is_judged_with_wider_tolerance():
    text = source_of("tiny_hydra_torch").replace("trunk = Trunk(6)\n", "trunk = Trunk(6)\n    torch.manual_seed(3)\n")
    text = text.replace("    policy = Policy(trunk)\n", "    policy = Policy(trunk).bfloat16()\n")

    report = verify(load(text, "narrow"), only="logprobs,reference")

    assert [(one.id, one.outcome.statement) for one in report.failures] == []


@pytest.mark.parametrize(
    ("old", "new", "status", "told"),
    [
        ("", "", "pass", "it clips"),
        ("torch.minimum", "torch.maximum", "fail", "positive advantages and of no negative one"),
        (".clamp(0.8, 1.28)", "", "pass", "it clips nothing at ratios of 2"),
        (".clamp(0.8, 1.28)", ".detach()", "pass", "it clips nothing at ratios of 2"),
        ("ratio = (logps - old_logps)", "ratio = (logps - logps.detach())", "pass", "it clips nothing at ratios of 2"),
        ("advantages[:, None])", "advantages[:, None].sub(advantages.mean()))", "pass", ""),
    ],
)
def test_a_clip_inside_a_step_that_hands_over_no_loss_is_looked_at(old, new, status, told):
    text = source_of("tiny_hydra_torch").replace("        loss=policy_loss,\n", "")
    assert old in text
    (found,) = verify(load(text.replace(old, new), "inline-clip"), only="V623").results

    assert found.status == status
    assert told in found.outcome.statement
