"""Nothing of the user's is changed: no file, no weight, no optimizer, no random state."""

import random

import numpy as np
import pytest

from rlprobe import Pipeline, verify


def drawing(rewards, group_size):
    random.random()
    np.random.random()  # noqa: NPY002 - a user's habit
    grouped = rewards.reshape(-1, group_size)
    return (grouped - grouped.mean(axis=1, keepdims=True)).reshape(-1)


def test_random_states_and_files_are_as_before(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002 - a user's habit
    expected = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002 - a user's habit

    verify(Pipeline(advantages=drawing, declare={"baseline": "group"}))

    assert (random.getstate(), np.random.get_state()[1].tolist()) == expected  # noqa: NPY002 - a user's habit
    assert list(tmp_path.iterdir()) == []


@pytest.mark.trl
@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_weights_gradients_modes_and_the_optimizer_of_a_trainer_are_as_before(tmp_path):
    torch = pytest.importorskip("torch")
    from bench.verifier.trl_sources import build

    trainer = build("grpo", {"loss_type": "grpo"}, tmp_path)
    trainer.create_optimizer()
    model = trainer.model
    model.train()
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    attributes = {name: id(value) for name, value in vars(trainer).items()}
    tables = repr((trainer._metrics, trainer._logs, trainer.state.num_input_tokens_seen))
    state, files = torch.get_rng_state(), sorted(tmp_path.rglob("*"))

    report = verify(trainer)

    assert report.count("pass") > 0
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(module.training for module in model.modules())
    assert trainer.optimizer.state_dict()["state"] == {}
    assert {name: id(value) for name, value in vars(trainer).items()} == attributes
    assert repr((trainer._metrics, trainer._logs, trainer.state.num_input_tokens_seen)) == tables
    assert torch.equal(torch.get_rng_state(), state)
    assert sorted(tmp_path.rglob("*")) == files
