"""The other trainers of TRL on the tiny model: each ready to train a few steps on questions that it half knows."""

from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen2ForSequenceClassification, Trainer

from tests.integrations.tiny_model import answer_of, questions
from tests.integrations.trl_lab import BASE, CASES, build, correct, shape
from trl import DPOConfig, DPOTrainer, RewardConfig, RewardTrainer, SFTConfig, SFTTrainer

COMMON = {
    name: value for name, value in BASE.items() if name not in ("num_generations", "max_completion_length", "beta")
}
COMMON |= {"per_device_train_batch_size": 8, "max_steps": 3}
PAIRS = 64


def wrong_answer(prompt: str) -> str:
    """An answer that is not sorted, or not whole."""
    return answer_of(prompt)[::-1] if len(set(prompt[5:9])) > 1 else "<>"


def pairs(*, chat: bool = False, seed: int = 3) -> Dataset:
    """Prompts with the right answer and a wrong one."""
    rows = []
    for text in questions(PAIRS, seed):
        row = {"prompt": text, "chosen": answer_of(text), "rejected": wrong_answer(text)}
        if chat:
            roles = {"prompt": "user", "chosen": "assistant", "rejected": "assistant"}
            rows.append({key: [{"role": roles[key], "content": value}] for key, value in row.items()})
        else:
            rows.append(row)
    return Dataset.from_list(rows)


def judged() -> Dataset:
    """Single answers, each said to be good or bad."""
    rows = [
        {"prompt": text, "completion": answer_of(text) if place % 2 else wrong_answer(text), "label": bool(place % 2)}
        for place, text in enumerate(questions(PAIRS, 3))
    ]
    return Dataset.from_list(rows)


def _policy(home: Path) -> dict[str, object]:
    return {
        "model": AutoModelForCausalLM.from_pretrained(home),
        "processing_class": AutoTokenizer.from_pretrained(home),
    }


def dpo(home: Path, out: Path, **settings: object) -> Trainer:
    """Direct preference optimisation, its reference the taught model."""
    extra = {key: settings.pop(key) for key in ("peft_config", "train_dataset", "eval_dataset") if key in settings}
    args = DPOConfig(output_dir=str(out), seed=1, **{**COMMON, "beta": 0.2, **settings})
    return DPOTrainer(args=args, **{"train_dataset": pairs(), **extra}, **_policy(home))


def kto(home: Path, out: Path, **settings: object) -> Trainer:
    """Kahneman-Tversky optimisation on single answers."""
    try:
        from trl import KTOConfig, KTOTrainer
    except ImportError:  # an experiment before it was one of the main trainers
        from trl.experimental.kto import KTOConfig, KTOTrainer
    args = KTOConfig(output_dir=str(out), seed=1, **{**COMMON, "beta": 0.2, **settings})
    return KTOTrainer(args=args, train_dataset=judged(), **_policy(home))


def online_dpo(home: Path, out: Path, **settings: object) -> Trainer:
    """Two own completions a prompt, the better one preferred."""
    from trl.experimental.online_dpo import OnlineDPOConfig, OnlineDPOTrainer

    chosen = {**COMMON, "beta": 0.2, "max_new_tokens": 10, **settings}
    return OnlineDPOTrainer(
        args=OnlineDPOConfig(output_dir=str(out), seed=1, **chosen),
        train_dataset=Dataset.from_dict({"prompt": questions(PAIRS, 3)}),
        reward_funcs=[correct, shape],
        **_policy(home),
    )


def gmpo(home: Path, out: Path, **settings: object) -> Trainer:
    """GRPO with geometric means: a trainer that subclasses GRPOTrainer."""
    from trl.experimental.gmpo import GMPOConfig, GMPOTrainer

    chosen = {**BASE, "max_steps": 3, "num_iterations": 2, "epsilon": 0.01, "epsilon_high": 0.02, **settings}
    return GMPOTrainer(
        args=GMPOConfig(output_dir=str(out), seed=1, **chosen),
        train_dataset=Dataset.from_dict({"prompt": questions(PAIRS, 3)}),
        reward_funcs=[correct, shape],
        **_policy(home),
    )


def sft(home: Path, out: Path, **settings: object) -> Trainer:
    """Supervised lessons."""
    rows = [{"prompt": text, "completion": answer_of(text)} for text in questions(PAIRS, 3)]
    args = SFTConfig(output_dir=str(out), seed=1, **{**COMMON, **settings})
    return SFTTrainer(args=args, train_dataset=Dataset.from_list(rows), **_policy(home))


def reward(home: Path, out: Path, **settings: object) -> Trainer:
    """A reward model on pairs."""
    torch.manual_seed(0)
    model = Qwen2ForSequenceClassification.from_pretrained(home, num_labels=1)
    args = RewardConfig(output_dir=str(out), seed=1, **{**COMMON, **settings})
    return RewardTrainer(
        model=model, args=args, train_dataset=pairs(), processing_class=AutoTokenizer.from_pretrained(home)
    )


def orpo(home: Path, out: Path, **settings: object) -> Trainer:
    """Odds ratios: one of the experimental trainers that keep their metrics elsewhere."""
    from trl.experimental.orpo import ORPOConfig, ORPOTrainer

    args = ORPOConfig(output_dir=str(out), seed=1, **{**COMMON, "max_length": 32, **settings})
    return ORPOTrainer(args=args, train_dataset=pairs(), **_policy(home))


def ppo(home: Path, out: Path, **settings: object) -> Trainer:
    """Proximal policy optimisation with a value model; trl 1.12 and older."""
    from trl.experimental.ppo import PPOConfig, PPOTrainer

    tokens = AutoTokenizer.from_pretrained(home)
    torch.manual_seed(0)
    values, judge = (Qwen2ForSequenceClassification.from_pretrained(home, num_labels=1) for _ in range(2))
    rows = [{"input_ids": tokens(text).input_ids} for text in questions(PAIRS, 3)]
    chosen = {
        **{name: value for name, value in COMMON.items() if name != "max_steps"},
        "response_length": 10,
        "num_ppo_epochs": 2,
        "num_mini_batches": 2,
        "total_episodes": 48,
        "gradient_accumulation_steps": 2,
        "num_sample_generations": 0,
        "stop_token": "eos",
        "kl_coef": 0.1,
        **settings,
    }
    return PPOTrainer(
        args=PPOConfig(output_dir=str(out), seed=1, **chosen),
        processing_class=tokens,
        model=AutoModelForCausalLM.from_pretrained(home),
        ref_model=AutoModelForCausalLM.from_pretrained(home),
        reward_model=judge,
        value_model=values,
        train_dataset=Dataset.from_list(rows),
    )


def _duel(home: Path, made: Callable[..., Trainer], config: object) -> Trainer:
    """The policy against an opponent, judged by a reward model."""
    torch.manual_seed(0)
    return made(
        args=config,
        train_dataset=Dataset.from_dict({"prompt": questions(PAIRS, 3)}),
        reward_funcs=Qwen2ForSequenceClassification.from_pretrained(home, num_labels=1),
        ref_model=AutoModelForCausalLM.from_pretrained(home),
        **_policy(home),
    )


def xpo(home: Path, out: Path, **settings: object) -> Trainer:
    """Exploratory preference optimisation: the opponent is the reference; trl 1.12 and older."""
    from trl.experimental.xpo import XPOConfig, XPOTrainer

    chosen = {**COMMON, "beta": 0.2, "max_new_tokens": 10, "gradient_accumulation_steps": 2, **settings}
    return _duel(home, XPOTrainer, XPOConfig(output_dir=str(out), seed=1, **chosen))


def nash_md(home: Path, out: Path, **settings: object) -> Trainer:
    """Nash mirror descent: the opponent is a mixture of policy and reference; trl 1.12 and older."""
    from trl.experimental.nash_md import NashMDConfig, NashMDTrainer

    chosen = {**COMMON, "beta": 0.2, "max_new_tokens": 10, **settings}
    return _duel(home, NashMDTrainer, NashMDConfig(output_dir=str(out), seed=1, **chosen))


def grpo(home: Path, out: Path, **settings: object) -> Trainer:
    """The group trainer that the other tests use."""
    return build(home, out, **{"max_steps": 3, **settings})


def rloo(home: Path, out: Path, **settings: object) -> Trainer:
    """The other group trainer."""
    return build(home, out, CASES["healthy-rloo"], **{"max_steps": 3, **settings})


KINDS: Mapping[str, Callable[..., Trainer]] = {
    "dpo": dpo,
    "kto": kto,
    "online_dpo": online_dpo,
    "gmpo": gmpo,
    "sft": sft,
    "reward": reward,
    "orpo": orpo,
}
