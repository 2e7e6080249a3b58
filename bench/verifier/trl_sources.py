"""TRL's own trainer with one line changed in a copy, and the configurations in which the unchanged one must be silent."""

import importlib.util
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from datasets import Dataset
from tests.integrations.tiny_model import answer_of, questions, tokenizer, untaught
from tests.integrations.trl_lab import BASE, correct, shape

import trl
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer

Trainer = GRPOTrainer | RLOOTrainer | DPOTrainer


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMutant:
    """One line of TRL changed.

    Attributes:
        old, new: text that stands exactly once in the trainer's module, and what stands there instead.
        stage: the stage whose check must fail first.
        settings: of the run, where the fault shows only there.
        trainer: "grpo", "rloo" or "dpo".
    """

    id: str
    old: str
    new: str
    stage: str
    settings: Mapping[str, object] = field(default_factory=dict)
    trainer: str = "grpo"


# fmt: off
MUTANTS = (
    SourceMutant(id="advantage-sign", old="            advantages = rewards - mean_grouped_rewards\n", new="            advantages = mean_grouped_rewards - rewards\n", stage="advantages"),
    SourceMutant(id="advantage-epsilon-one", old="                advantages = advantages / (std_rewards + 1e-4)\n", new="                advantages = advantages / (std_rewards + 1.0)\n", stage="advantages"),
    SourceMutant(id="group-order", old="mean_grouped_rewards.repeat_interleave(num_generations, dim=0)", new="mean_grouped_rewards.repeat(num_generations)", stage="advantages"),
    SourceMutant(id="logprob-shift", old="all_logps.append(outputs.log_probs[:, -logits_to_keep:])", new="all_logps.append(outputs.log_probs[:, -logits_to_keep:].roll(1, dims=1))", stage="logprobs"),
    SourceMutant(id="temperature-ignored", old="            temperature=self.temperature,\n            cast_lm_head_to_fp32=args.cast_lm_head_to_fp32,\n            outputs=", new="            temperature=1.0,\n            cast_lm_head_to_fp32=args.cast_lm_head_to_fp32,\n            outputs=", stage="logprobs", settings={"temperature": 0.7}),
    SourceMutant(id="mask-ignored", old="loss = ((per_token_loss * mask).sum(-1) / mask.sum(-1).clamp(min=1.0)).mean()", new="loss = (per_token_loss.sum(-1) / mask.sum(-1).clamp(min=1.0)).mean()", stage="loss", settings={"loss_type": "grpo"}),
    SourceMutant(id="kl-sign", old="per_token_loss = per_token_loss + self.beta * per_token_kl", new="per_token_loss = per_token_loss - self.beta * per_token_kl", stage="loss"),
    SourceMutant(id="clip-edges-swapped", old="coef_2 = torch.clamp(coef_1, 1 - self.epsilon_low, 1 + self.epsilon_high)", new="coef_2 = torch.clamp(coef_1, 1 - self.epsilon_high, 1 + self.epsilon_low)", stage="loss", settings={"epsilon_high": 0.28}),
    SourceMutant(id="reference-is-the-policy", old="self.ref_model = create_model_from_path(get_config_model_id(self.model.config), **model_init_kwargs)", new="self.ref_model = self.model", stage="reference"),
    SourceMutant(id="max-for-min", old="per_token_loss = -torch.min(per_token_loss1, per_token_loss2)", new="per_token_loss = -torch.max(per_token_loss1, per_token_loss2)", stage="loss"),
    SourceMutant(id="ratio-inverted", old="        log_ratio = per_token_logps - old_per_token_logps\n", new="        log_ratio = old_per_token_logps - per_token_logps\n", stage="loss"),
    SourceMutant(id="attention-mask-forgotten", old='model_inputs = {"input_ids": input_ids_batch, "attention_mask": attention_mask_batch}', new='model_inputs = {"input_ids": input_ids_batch, "attention_mask": torch.ones_like(attention_mask_batch)}', stage="logprobs"),
    SourceMutant(id="ratio-detached", old="        coef_1 = torch.exp(log_importance_weights)\n\n        # Compute the KL", new="        coef_1 = torch.exp(log_importance_weights.detach())\n\n        # Compute the KL", stage="loss"),
    SourceMutant(id="rloo-baseline-of-all", old="baselines = (grouped_sum - grouped_rewards) / (scorable_counts - 1)", new="baselines = (grouped_sum - grouped_rewards) / scorable_counts", stage="advantages", trainer="rloo"),
    SourceMutant(id="dpo-sides-swapped", old="        delta_score = chosen_scores - rejected_scores\n", new="        delta_score = rejected_scores - chosen_scores\n", stage="loss", trainer="dpo"),
    SourceMutant(id="dpo-reference-added", old="        chosen_logratios = chosen_logps - ref_chosen_logps\n", new="        chosen_logratios = chosen_logps + ref_chosen_logps\n", stage="loss", trainer="dpo"),
)
# fmt: on

CORRECT: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "GRPO with KL": ("grpo", {"loss_type": "grpo"}),
    "GRPO without reference": ("grpo", {"beta": 0.0}),
    "DAPO": ("grpo", {"loss_type": "dapo", "epsilon_high": 0.28, "beta": 0.0}),
    "Dr. GRPO": ("grpo", {"loss_type": "dr_grpo", "scale_rewards": "none"}),
    "GSPO": (
        "grpo",
        {"loss_type": "grpo", "importance_sampling_level": "sequence", "epsilon": 3e-4, "epsilon_high": 4e-4},
    ),
    "BNPO at temperature 0.7": ("grpo", {"loss_type": "bnpo", "temperature": 0.7}),
    "CISPO": ("grpo", {"loss_type": "cispo", "epsilon_high": 5.0, "beta": 0.0}),
    "scaled by the batch": ("grpo", {"scale_rewards": "batch"}),
    "RLOO": ("rloo", {}),
    "RLOO, normalised": ("rloo", {"normalize_advantages": True, "beta": 0.0}),
    "DPO": ("dpo", {}),
    "robust DPO": ("dpo", {"loss_type": "robust", "label_smoothing": 0.1}),
    "IPO": ("dpo", {"loss_type": "ipo"}),
    "hinge": ("dpo", {"loss_type": "hinge"}),
}


def mutated(mutant: SourceMutant) -> type[Trainer]:
    """The trainer's class of a copy of TRL's module with the line changed.

    Raises:
        ValueError: the line is not there exactly once, so this version of TRL reads otherwise.
    """
    name = f"{mutant.trainer}_trainer"
    path = Path(trl.__file__).parent / "trainer" / f"{name}.py"
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.id}: the line stands {text.count(mutant.old)} times in {path.name}, expected once")
    changed = Path(tempfile.mkdtemp()) / path.name
    changed.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    module = _loaded(f"trl.trainer.{name}_{mutant.id.replace('-', '_')}", changed)
    return getattr(module, f"{mutant.trainer.upper()}Trainer")


def build(kind: str, settings: Mapping[str, object], folder: Path, *, of: type[Trainer] | None = None) -> Trainer:
    """A trainer on the tiny model, untaught: nothing is trained."""
    model, tokens = untaught(), tokenizer()
    model.save_pretrained(folder)
    tokens.save_pretrained(folder)
    if kind == "dpo":
        given = {name: value for name, value in BASE.items() if name in _COMMON}
        pairs = [{"prompt": one, "chosen": answer_of(one), "rejected": "<1>"} for one in questions(8, 0)]
        arguments = DPOConfig(output_dir=str(folder), **{**given, **settings})
        return (of or DPOTrainer)(
            str(folder), args=arguments, train_dataset=Dataset.from_list(pairs), processing_class=tokens
        )
    config, trainer = (GRPOConfig, GRPOTrainer) if kind == "grpo" else (RLOOConfig, RLOOTrainer)
    rows = [{"prompt": one, "answer": answer_of(one)} for one in questions(16, 0)]
    return (of or trainer)(
        str(folder),
        reward_funcs=[correct, shape],
        args=config(output_dir=str(folder), **{**BASE, **settings}),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokens,
    )


_COMMON = (
    "per_device_train_batch_size",
    "learning_rate",
    "use_cpu",
    "bf16",
    "gradient_checkpointing",
    "report_to",
    "disable_tqdm",
)


def _loaded(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__package__ = "trl.trainer"
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
