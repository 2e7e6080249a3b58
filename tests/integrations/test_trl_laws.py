"""Recording never hurts training: what a trainer computes is the same with and without, whatever happens in a hook."""

import inspect
from pathlib import Path

import pytest

pytest.importorskip("trl")
import torch
from transformers import TrainerCallback

from rlprobe.integrations.trl import Attachment, attach
from rlprobe.integrations.trl_hooks import Hooks
from rlprobe.integrations.trl_session import Session
from rlprobe.integrations.trl_wrapping import RewardWatch
from tests.integrations.agreement import outcome
from tests.integrations.memory_recorder import MemoryRecorder
from tests.integrations.trl_lab import CASES, Case, Trainer, build

pytestmark = [pytest.mark.trl, pytest.mark.slow, pytest.mark.filterwarnings("default")]

SHAPES = {
    "grpo": (CASES["healthy"], {}),
    "grpo without reference": (CASES["healthy"], {"beta": 0.0}),
    "rloo": (CASES["healthy-rloo"], {}),
    "blocks": (CASES["healthy"], {"num_iterations": 2, "steps_per_generation": 4, "logging_steps": 10, "max_steps": 9}),
    "accumulation": (
        CASES["healthy"],
        {"gradient_accumulation_steps": 2, "per_device_train_batch_size": 16, "loss_type": "grpo"},
    ),
    "sequence ratios": (CASES["healthy"], {"importance_sampling_level": "sequence", "num_iterations": 2}),
}

HOOKS = [name for name, _ in inspect.getmembers(Hooks, inspect.isfunction) if not name.startswith("_")]
HOOKS = sorted(set(HOOKS) - {"install", "evaluated"})  # nothing is evaluated here
WATCHES = ("called", "returned")
TOGETHER = 12  # groups of hooks that fail at once: a run each costs a second
SESSION_HOOKS = ("train_begins", "step_begins", "update_begins", "update_ends", "step_ends", "logged", "train_ends")


ALL_HOOKS = (*HOOKS, *SESSION_HOOKS, *WATCHES)
GROUPS = [ALL_HOOKS[start::TOGETHER] for start in range(TOGETHER)]


def assert_same(left: tuple[object, dict[str, torch.Tensor]], right: tuple[object, dict[str, torch.Tensor]]) -> None:
    assert left[0] == right[0]
    assert all(torch.equal(value, right[1][name]) for name, value in left[1].items())


@pytest.mark.parametrize(("shape", "capture"), [*((shape, "all") for shape in SHAPES), ("grpo", "default")])
def test_logs_and_weights_are_bit_identical_with_and_without_the_recorder(
    sorter: Path, tmp_path: Path, memory: type[MemoryRecorder], shape: str, capture: str
) -> None:
    case, settings = SHAPES[shape]
    chosen = {"max_steps": 4, **settings}
    bare = outcome(build(sorter, tmp_path / "a", case, **chosen))
    watched = build(sorter, tmp_path / "b", case, **chosen)
    with attach(watched, tmp_path / "run", capture=capture) as probe:
        recorder = probe.recorder
        assert_same(outcome(watched), bare)

    assert recorder is not None
    assert sorted(recorder.steps) == list(range(1, chosen["max_steps"] + 1))
    assert "bad_hook" not in recorder.kinds()


@pytest.fixture(scope="module")
def unwatched(sorter: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[object, dict[str, torch.Tensor]]:
    return outcome(build(sorter, tmp_path_factory.mktemp("bare"), max_steps=3))


@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_failures_in_hooks_are_recorded_once_each_and_training_goes_on(
    sorter: Path,
    tmp_path: Path,
    memory: type[MemoryRecorder],
    monkeypatch: pytest.MonkeyPatch,
    unwatched: tuple[object, dict[str, torch.Tensor]],
    names: tuple[str, ...],
) -> None:
    def fails(*_: object, **__: object) -> object:
        raise ZeroDivisionError("injected")

    for name in names:
        owner = Session if name in SESSION_HOOKS else RewardWatch if name in WATCHES else Hooks
        broken = property(fails) if isinstance(inspect.getattr_static(owner, name), property) else fails
        monkeypatch.setattr(owner, name, broken)
    trainer = build(sorter, tmp_path, max_steps=3)
    with attach(trainer, tmp_path / "run") as probe:
        recorder = probe.recorder
        assert_same(outcome(trainer), unwatched)

    failures = [fields["hook"] for kind, _, fields in recorder.events if kind == "bad_hook"]
    assert failures
    assert len(failures) == len(set(failures))


@pytest.mark.parametrize("method", ["log_step", "log_samples", "log_event"])
def test_a_recorder_that_fails_does_not_stop_training(
    sorter: Path,
    tmp_path: Path,
    memory: type[MemoryRecorder],
    monkeypatch: pytest.MonkeyPatch,
    unwatched: tuple[object, dict[str, torch.Tensor]],
    method: str,
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(MemoryRecorder, method, fails)
    trainer = build(sorter, tmp_path, max_steps=3)
    with attach(trainer, tmp_path / "run"):
        assert_same(outcome(trainer), unwatched)


def test_a_failure_is_raised_when_hooks_are_strict_under_pytest(
    sorter: Path, tmp_path: Path, memory: type[MemoryRecorder], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError("injected")

    monkeypatch.setattr(Hooks, "generated", fails)
    monkeypatch.setenv("RLPROBE_STRICT_HOOKS", "1")
    trainer = build(sorter, tmp_path, max_steps=1)
    with attach(trainer, tmp_path / "run"), pytest.raises(ZeroDivisionError):
        trainer.train()


def test_closing_puts_every_original_back(sorter: Path, tmp_path: Path, memory: type[MemoryRecorder]) -> None:
    trainer = build(sorter, tmp_path, max_steps=1)
    before, functions = set(vars(trainer)), list(trainer.reward_funcs)
    callbacks = list(trainer.callback_handler.callbacks)
    clip = trainer.accelerator.clip_grad_norm_
    attach(trainer, tmp_path / "run").close()

    assert set(vars(trainer)) == before
    assert trainer.reward_funcs == functions
    assert trainer.callback_handler.callbacks == callbacks
    assert trainer.accelerator.clip_grad_norm_ == clip


class Late(TrainerCallback):
    """Somebody attaches when two steps are over."""

    def __init__(self, trainer: Trainer, run: Path) -> None:
        self._trainer, self._run = trainer, run
        self.probe: Attachment | None = None

    def on_step_end(self, args: object, state: object, control: object, **kwargs: object) -> None:
        if state.global_step == 2:
            self.probe = attach(self._trainer, self._run)


def test_attached_while_training_goes_on_it_records_whole_steps_from_then_on(
    sorter: Path, tmp_path: Path, memory: type[MemoryRecorder]
) -> None:
    early, late = (build(sorter, tmp_path / name, max_steps=4, logging_steps=4) for name in ("early", "late"))
    with attach(early, tmp_path / "run") as probe:
        whole = probe.recorder
        outcome(early)
    joins = Late(late, tmp_path / "run")
    late.add_callback(joins)
    outcome(late)

    recorder = joins.probe.recorder
    assert sorted(recorder.steps) == [3, 4]
    assert recorder.kinds() == ["train_begin", "train_end"]
    clocks = ("seconds", "second", "bytes", "time")
    for step, row in recorder.steps.items():
        expected = {name: value for name, value in whole.steps[step].items() if not name.endswith(clocks)}
        expected.pop("reference_drift", None)  # looked at in the first steps of a session
        assert {name: row.get(name) for name in expected if "seconds/" not in name} == {
            name: value for name, value in expected.items() if "seconds/" not in name
        }
    assert {row["step"] for row in recorder.rows()} == {3, 4}
    joins.probe.close()


def test_hooks_that_cannot_be_put_on_cost_no_training(
    sorter: Path,
    tmp_path: Path,
    memory: type[MemoryRecorder],
    monkeypatch: pytest.MonkeyPatch,
    unwatched: tuple[object, dict[str, torch.Tensor]],
) -> None:
    def fails(_: Hooks) -> None:
        raise TypeError("'RewardModel' object is not iterable")

    monkeypatch.setattr(Hooks, "install", fails)
    trainer = build(sorter, tmp_path, max_steps=3)
    with attach(trainer, tmp_path / "run") as probe:
        recorder = probe.recorder
        assert_same(outcome(trainer), unwatched)

    assert ("bad_hook", "installing hooks") in [(kind, fields.get("hook")) for kind, _, fields in recorder.events]
    assert {"reward_mean", "grad_norm", "weight_update_ratio"} <= recorder.steps[2].keys()


def test_attach_says_in_one_line_what_it_cannot_take(
    sorter: Path, tmp_path: Path, memory: type[MemoryRecorder]
) -> None:
    trainer = build(sorter, tmp_path, Case(), max_steps=1)
    with pytest.raises(TypeError, match=r"^attach: expected a trainer of TRL or transformers, got str\. [^\n]*$"):
        attach("trainer", tmp_path)
    with pytest.raises(ValueError, match=r"^attach: expected capture to be one of [^\n]*'much'[^\n]*$"):
        attach(trainer, tmp_path, capture="much")
    with attach(trainer, tmp_path / "run"), pytest.raises(TypeError, match="has it"):
        attach(trainer, tmp_path / "again")
