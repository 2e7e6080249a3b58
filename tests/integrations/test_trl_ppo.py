"""PPOTrainer has a training loop of its own, whose variables are read. trl 1.13 and later have no such trainer.

A stand-in with the loop's names trains here, so that the reading is held in every run of the tests; `python -m
bench.trl.versions --kinds ppo` trains the real ones.
"""

import types
import weakref
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
import torch

from rlprobe.integrations.guard import HookGuard
from rlprobe.integrations.trl_callback import Halted, Stopper
from rlprobe.integrations.trl_ppo import PpoWatch
from rlprobe.integrations.trl_step import StepRecord
from tests.integrations.agreement import differences
from tests.integrations.memory_recorder import MemoryRecorder

pytestmark = [pytest.mark.trl, pytest.mark.slow, pytest.mark.filterwarnings("default")]

SAMPLES, WIDTH = 4, 5


class Tokens:
    """Decodes an id to its letter."""

    pad_token_id = 0

    def batch_decode(self, ids: list[list[int]], **_: object) -> list[str]:
        return ["".join(chr(96 + each) for each in line) for line in ids]


class Model(torch.nn.Module):
    """A policy and a value model, as TRL wraps them."""

    def __init__(self) -> None:
        super().__init__()
        self.policy, self.value_model = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)


class PPOTrainer:
    """The names of TRL's, and a loop that makes one update a step."""

    def __init__(self) -> None:
        torch.manual_seed(1)
        self.model, self.processing_class = Model(), Tokens()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.accelerator = types.SimpleNamespace(sync_gradients=True, process_index=0, num_processes=1)
        self.args = types.SimpleNamespace(kl_coef=0.05, kl_estimator="k1")
        self.held: dict[str, np.ndarray] = {}
        self.gone: list[weakref.ref[torch.Tensor]] = []
        self.logged: list[dict[str, float]] = []

    def log(self, logs: dict[str, float]) -> None:
        self.logged.append(logs)

    def train(self) -> None:
        queries = torch.tensor([[0, 1, 2], [1, 2, 3], [0, 0, 4], [5, 6, 7]])
        responses = torch.randint(1, 8, (SAMPLES, WIDTH))
        sequence_lengths = torch.tensor([4, 2, 3, 1])
        scores, values, returns = torch.randn(SAMPLES), torch.randn(SAMPLES, WIDTH), torch.randn(SAMPLES, WIDTH)
        advantages, logprobs = torch.randn(SAMPLES, WIDTH), -torch.rand(SAMPLES, WIDTH)
        ref_logprobs = logprobs - 0.1
        kl = logprobs - ref_logprobs
        places = torch.arange(WIDTH).repeat(SAMPLES, 1)
        padding_mask = places > sequence_lengths[:, None]
        padding_mask_p1 = places > sequence_lengths[:, None] + 1
        contain_eos_token = torch.tensor([True, False, True, True])
        self.held = {name: value.numpy() for name, value in locals().items() if isinstance(value, torch.Tensor)}
        self.model.policy(torch.ones(3)).sum().backward()
        self.model.value_model(2 * torch.ones(3)).sum().backward()
        self.optimizer.step()
        self.log({"objective/kl": 0.5, "objective/scores": float(scores.mean()), "loss/value_avg": 0.25, "lr": 0.1})
        self.gone = [weakref.ref(values), weakref.ref(advantages)]
        del values, advantages, returns, kl, padding_mask, padding_mask_p1, contain_eos_token, places, queries
        assert [each() for each in self.gone] == [None, None], "reading the loop's variables kept them alive"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> tuple[PPOTrainer, dict[str, float], dict[str, list[object]]]:
    """The stand-in trained once: itself, the step's metrics and the samples."""
    monkeypatch.setenv("RLPROBE_STRICT_HOOKS", "1")
    trainer = PPOTrainer()
    watch = PpoWatch(trainer, HookGuard(lambda *_: None), with_tokens=True)
    watch.install()
    watch.step = StepRecord(number=1, started=0.0)
    trainer.train()
    metrics = watch.metrics(watch.step, {}) | watch.step.facts
    (part,) = watch.samples(watch.step)
    watch.wraps.undo()
    return trainer, metrics, dict(part)


def test_the_value_head_is_measured_over_the_tokens_that_its_loss_counts(read: tuple) -> None:
    trainer, metrics, _ = read
    held = trainer.held
    keep = ~held["padding_mask_p1"]
    values, returns = held["values"][keep], held["returns"][keep]

    assert metrics["value_explained_variance"] == pytest.approx(
        1 - np.var(returns - values) / np.var(returns), rel=1e-5
    )
    assert metrics["return_max"] == pytest.approx(returns.max())
    assert metrics["advantage_mean"] == pytest.approx(held["advantages"][~held["padding_mask"]].mean(), rel=1e-4)
    assert metrics["kl_mean"] == pytest.approx(0.1, rel=1e-4)
    assert metrics["grad_norm"] == pytest.approx(np.sqrt(3 * 4 + 3 * 4 + 1), rel=1e-6)
    assert metrics["value_grad_norm"] == pytest.approx(np.sqrt(3 * 4 + 1), rel=1e-6)
    assert metrics["grad_nonfinite_count"] == 0
    assert metrics["weight_update_ratio"] > 0
    assert differences({1: metrics}, [{**trainer.logged[0], "step": 1}], "ppo") == []


def test_samples_are_the_rollout_without_what_fills_it_up(read: tuple) -> None:
    trainer, _, part = read
    held = trainer.held

    assert part["prompt"] == ["ab", "abc", "d", "efg"]
    assert part["completion_tokens"] == [5, 3, 4, 2]
    assert [len(tokens) for tokens in part["token_logprobs"]] == part["completion_tokens"]
    assert part["truncated"] == [False, True, False, False]
    assert part["reward"] == pytest.approx(held["scores"].tolist())
    for row in range(SAMPLES):
        end = part["completion_tokens"][row]
        assert part["advantage"][row] == pytest.approx(held["advantages"][row, :end].mean(), rel=1e-5)
        assert part["value"][row] == pytest.approx(held["values"][row, :end].mean(), rel=1e-5)
        assert part["token_ids"][row].tolist() == held["responses"][row, :end].tolist()


def test_a_loop_without_those_names_still_gives_what_it_logs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RLPROBE_STRICT_HOOKS", "1")
    trainer = PPOTrainer()
    watch = PpoWatch(trainer, HookGuard(lambda *_: None), with_tokens=True)
    watch.install()
    trainer.log({"loss/value_avg": 0.5, "val/ratio": 1.0})

    assert watch.metrics(watch.step, {})["value_loss"] == 0.5
    assert watch.samples(watch.step) == []


@pytest.mark.parametrize("processes", [1, 2])
def test_a_halt_leaves_the_loop_with_a_checkpoint_where_the_trainer_can_write_one(
    processes: int, tmp_path: Path
) -> None:
    trainer, recorder = PPOTrainer(), MemoryRecorder(tmp_path)
    trainer.accelerator.num_processes = processes
    control = types.SimpleNamespace(should_save=False, should_training_stop=False)
    stopper = Stopper(trainer, HookGuard(lambda *_: None))
    stopper.after(recorder, 1, control)
    assert not control.should_save

    recorder.should_stop = True
    if processes == 1:
        stopper.after(recorder, 2, control)
    assert control.should_save is (processes == 1)
    with pytest.raises(Halted):  # in the next step, or at once: saving raises in several processes
        stopper.after(recorder, 3, control)
