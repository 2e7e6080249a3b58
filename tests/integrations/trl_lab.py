"""Real TRL trainers on the tiny model: one that is healthy, and faults put in at their mechanism.

Also run as a program: `python -m tests.integrations.trl_lab RUN MODEL [NAME] [STEPS]` trains one recorded run.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback

from tests.integrations.tiny_model import answer_of, questions
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer

LONG = 24  # tokens; the length cap where length is paid

Trainer = GRPOTrainer | RLOOTrainer

BASE: Mapping[str, object] = {
    "per_device_train_batch_size": 32,
    "num_generations": 8,
    "max_completion_length": 12,
    "learning_rate": 5e-4,
    "lr_scheduler_type": "constant",
    "beta": 0.02,
    "use_cpu": True,
    "bf16": False,
    "gradient_checkpointing": False,
    "logging_steps": 1,
    "save_strategy": "no",
    "report_to": [],
    "disable_tqdm": True,
}


def correct(prompts: list[str], completions: list[str], **_: object) -> list[float]:
    """1 for the right answer."""
    return [float(completion == answer_of(prompt)) for prompt, completion in zip(prompts, completions, strict=True)]


def shape(completions: list[str], **_: object) -> list[float]:
    """Half for something that looks like an answer."""
    return [0.5 * float(text[:1] == "<" and text[-1:] == ">" and text[1:-1].isdigit()) for text in completions]


def length(completion_ids: list[list[int]], **_: object) -> list[float]:
    """Pays length alone."""
    return [len(ids) / LONG for ids in completion_ids]


def constant(completions: list[str], **_: object) -> list[float]:
    """Says the same of everything."""
    return [0.25 for _ in completions]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run: what it is paid for, the settings that differ, and the sabotage before it trains.

    Attributes:
        expected: ids of which the first finding must have one; empty for a healthy run.
        sabotage: called with the trainer before the recorder is attached.
    """

    expected: tuple[str, ...] = ()
    rewards: tuple[Callable[..., list[float]], ...] = (correct, shape)
    settings: Mapping[str, object] = field(default_factory=dict)
    kind: str = "grpo"
    steps: int = 150
    sabotage: Callable[[Trainer], None] | None = None


def flip_advantages(trainer: Trainer) -> None:
    """The advantage gets the wrong sign on its way from the trainer's table to the loss."""
    original = trainer._generate_and_score_completions

    def flipped(inputs: object) -> dict[str, torch.Tensor]:
        out = original(inputs)
        return out | {"advantages": -out["advantages"]}

    trainer._generate_and_score_completions = flipped


def blank_texts(trainer: Trainer) -> None:
    """The reward functions are handed empty texts."""
    original = trainer._calculate_rewards

    def blanked(inputs: object, prompts: list[str], completions: list[str], ids: object) -> torch.Tensor:
        return original(inputs, prompts, ["" for _ in completions], ids)

    trainer._calculate_rewards = blanked


def mask_eos(trainer: Trainer) -> None:
    """The sampler may not end a completion, nor fill it up."""
    trainer.generation_config.suppress_tokens = [0, 2]


class _Poison(TrainerCallback):
    """One gradient becomes infinite in step 40, as after an overflow."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._weight = next(model.parameters())
        self._armed = False
        self._weight.register_hook(self._spoil)

    def on_step_begin(self, args: object, state: object, control: object, **kwargs: object) -> None:
        self._armed = state.global_step == 39

    def _spoil(self, gradient: torch.Tensor) -> torch.Tensor:
        return torch.full_like(gradient, torch.nan) if self._armed else gradient


def poison_gradient(trainer: Trainer) -> None:
    """A gradient turns NaN in step 40, and the weights with it."""
    trainer.add_callback(_Poison(trainer.model))


CASES: Mapping[str, Case] = {
    "healthy": Case(settings={"learning_rate": 3e-4}, steps=250),
    "healthy-iterations": Case(settings={"num_iterations": 2, "steps_per_generation": 2, "learning_rate": 2e-4}),
    "healthy-rloo": Case(kind="rloo", settings={"learning_rate": 2e-4}),
    "length-reward": Case(
        expected=("REWARD_HACK_LENGTH",),
        rewards=(length,),
        settings={"beta": 0.0, "learning_rate": 1e-4, "max_completion_length": LONG},
    ),
    "blank-texts": Case(
        expected=("REWARD_TEXT_MISMATCH",),
        steps=60,
        sabotage=blank_texts,
    ),
    "high-rate": Case(
        expected=("KL_BLOWUP", "ENTROPY_COLLAPSE", "LR_ANOMALY"),
        settings={"learning_rate": 3e-2, "max_grad_norm": 1e6},
        steps=100,
    ),
    "constant-reward": Case(expected=("REWARD_CONSTANT",), rewards=(constant,), steps=60),
    "sign-flip": Case(expected=("ADVANTAGE_INVALID",), steps=100, sabotage=flip_advantages),
    "no-eos": Case(expected=("NO_EOS",), steps=60, sabotage=mask_eos),
    "nan-gradient": Case(expected=("NUMERIC_NAN",), steps=60, sabotage=poison_gradient),
}


def build(home: Path, out: Path, case: Case | None = None, *, seed: int = 1, **settings: object) -> Trainer:
    """A trainer of the case (the healthy one by default), ready to train; settings go over the case's."""
    case = case or CASES["healthy"]
    config, kind = (RLOOConfig, RLOOTrainer) if case.kind == "rloo" else (GRPOConfig, GRPOTrainer)
    extra = {key: settings.pop(key) for key in ("train_dataset", "eval_dataset", "peft_config") if key in settings}
    chosen = {**BASE, "max_steps": case.steps, **case.settings, **settings}
    trainer = kind(
        model=AutoModelForCausalLM.from_pretrained(home),
        args=config(output_dir=str(out), seed=seed, **chosen),
        reward_funcs=list(case.rewards),
        processing_class=AutoTokenizer.from_pretrained(home),
        **{"train_dataset": Dataset.from_dict({"prompt": questions(1024, 3)}), **extra},
    )
    if case.sabotage is not None:
        case.sabotage(trainer)
    return trainer


def main(run_dir: str, home: str, name: str = "healthy", steps: str = "0") -> None:
    """Train one recorded run."""
    from rlprobe.integrations.trl import attach

    torch.set_num_threads(1)
    settings = {"max_steps": int(steps)} if int(steps) else {}
    trainer = build(Path(home), Path(run_dir).with_suffix(".out"), CASES[name], **settings)
    with attach(trainer, run_dir):
        trainer.train()


if __name__ == "__main__":
    main(*sys.argv[1:])
