"""Slots of TRL's group trainers (GRPO, RLOO): reward, advantages, decode, log-probs and loss by their own methods."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import torch

from rlprobe.verifier.trainers.planting import is_adapter, original, planted, stands_for

if TYPE_CHECKING:
    from transformers import Trainer

PROMPT_TOKENS = 2  # of planted batches; the loss looks at completions only
LEARNING_RATE = 1e-2  # of the plain gradient step in `train_step`; large enough to be seen in float32


def slots(trainer: "Trainer", kind: str) -> dict[str, object]:
    """Functions by slot; what this version of TRL has no method for is absent."""
    found: dict[str, object] = {}
    rewards = getattr(trainer, "reward_funcs", None)
    plain = [one for one in rewards or () if callable(one) and not isinstance(one, torch.nn.Module)]
    if plain:
        found["reward"] = plain
    if original(trainer, "_generate_and_score_completions") and original(trainer, "_calculate_rewards"):
        if getattr(trainer, "multi_objective_aggregation", "sum_then_normalize") == "sum_then_normalize":
            found["advantages"] = _advantages(trainer)
        found["decode"] = _decode(trainer)
    scored = original(trainer, "_get_per_token_logps_and_entropies")
    if scored:
        found["score"] = _score(trainer)
        if not is_adapter(getattr(trainer, "model", None)):
            found["logprobs"] = _logprobs(trainer)
        if original(trainer, "_compute_loss"):
            found["loss"] = _loss(trainer, kind)
            found["train_step"] = _train_step(trainer, kind)
    return found


def _advantages(trainer: "Trainer") -> Callable[..., object]:
    @stands_for(trainer._generate_and_score_completions)
    def advantages(rewards: torch.Tensor) -> object:
        if rewards.ndim != 1:
            raise ValueError("one reward a sample is expected; groups have the trainer's own size")
        count = len(trainer.reward_funcs)
        table = torch.full((len(rewards), count), torch.nan, dtype=rewards.dtype)
        weight = float(trainer.reward_weights[0])
        table[:, 0] = rewards / (weight or 1.0)
        completions = [[_token(trainer)] * 2 for _ in rewards]
        with _generating(trainer, completions, _calculate_rewards=lambda *_: table):
            return trainer._generate_and_score_completions(_inputs(trainer, len(rewards)))["advantages"]

    return advantages


def _decode(trainer: "Trainer") -> Callable[..., object]:
    @stands_for(trainer._generate)
    def decode(ids: list[list[int]]) -> list[str]:
        rows = [[int(one) for one in row] for row in ids]
        prompts = [row["prompt"] for row in _inputs(trainer, len(rows))]
        with _generating(trainer, rows):
            generated = trainer._generate(prompts)
        texts = next(part for part in generated if isinstance(part, list) and part and not _is_ids(part))
        return [one if isinstance(one, str) else one[-1]["content"] for one in texts]

    return decode


def _logprobs(trainer: "Trainer") -> Callable[..., object]:
    """The scoring path with the network cut out: hidden states are the planted logits, the head is the identity."""

    @stands_for(trainer._get_per_token_logps_and_entropies)
    def logprobs(logits: torch.Tensor, ids: torch.Tensor) -> object:
        model = trainer.accelerator.unwrap_model(trainer.model)
        backbone, head = model.base_model_prefix, model.get_output_embeddings()
        vocabulary = logits.shape[-1]
        identity = torch.nn.Linear(vocabulary, vocabulary, bias=False, dtype=logits.dtype)
        identity.weight = torch.nn.Parameter(torch.eye(vocabulary, dtype=logits.dtype), requires_grad=False)
        children = dict(model._modules)
        try:
            model._modules[backbone] = _Backbone(logits, model.get_input_embeddings())
            model.set_output_embeddings(identity)
            return trainer._get_per_token_logps_and_entropies(
                trainer.model, ids, torch.ones_like(ids), ids.shape[1] - 1
            )[0]
        finally:
            model._modules.update(children)
            model.set_output_embeddings(head)

    return logprobs


def _score(trainer: "Trainer") -> Callable[..., object]:
    @stands_for(trainer._get_per_token_logps_and_entropies)
    def score(model: object, ids: torch.Tensor, mask: torch.Tensor) -> object:
        return trainer._get_per_token_logps_and_entropies(model, ids, mask.long(), ids.shape[1] - 1)[0]

    return score


def _loss(trainer: "Trainer", kind: str) -> Callable[..., object]:
    def computed(
        logprobs: torch.Tensor,
        old_logprobs: torch.Tensor,
        advantages: torch.Tensor,
        mask: torch.Tensor,
        ref_logprobs: torch.Tensor | None = None,
    ) -> object:
        batch = _batch(trainer, kind, mask.long(), advantages, old_logprobs)
        if ref_logprobs is not None:
            batch["ref_per_token_logps"] = ref_logprobs
        scored = (logprobs, torch.ones_like(logprobs.detach()), None)
        with _training(trainer, _get_per_token_logps_and_entropies=lambda *_, **__: scored):
            return trainer._compute_loss(trainer.model, batch)

    mark = stands_for(trainer._compute_loss)
    if kind == "grpo" and trainer.beta:

        def with_reference(
            logprobs: torch.Tensor,
            old_logprobs: torch.Tensor,
            advantages: torch.Tensor,
            mask: torch.Tensor,
            ref_logprobs: torch.Tensor,
        ) -> object:
            return computed(logprobs, old_logprobs, advantages, mask, ref_logprobs)

        return mark(with_reference)

    def without_reference(
        logprobs: torch.Tensor, old_logprobs: torch.Tensor, advantages: torch.Tensor, mask: torch.Tensor
    ) -> object:
        return computed(logprobs, old_logprobs, advantages, mask)

    return mark(without_reference)


def _train_step(trainer: "Trainer", kind: str) -> Callable[..., object]:
    @stands_for(trainer._compute_loss)
    def train_step(model: torch.nn.Module, ids: torch.Tensor, mask: torch.Tensor, advantages: torch.Tensor) -> object:
        completion = mask[:, PROMPT_TOKENS:].long()
        batch = _batch(trainer, kind, completion, advantages, None)
        batch.update(prompt_ids=ids[:, :PROMPT_TOKENS], completion_ids=ids[:, PROMPT_TOKENS:])
        model.zero_grad(set_to_none=True)  # as the training loop does after every step
        with torch.no_grad():
            for name, scoring in (("old", model), ("ref", getattr(trainer, "ref_model", None) or model)):
                scored = trainer._get_per_token_logps_and_entropies(scoring, ids, mask.long(), completion.shape[1])[0]
                batch[f"{name}_per_token_logps"] = scored
        if kind == "rloo":
            batch["old_logps"] = (batch["old_per_token_logps"] * completion).sum(1)
        with _training(trainer):
            loss = trainer._compute_loss(model, batch)
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.requires_grad and parameter.grad is not None:
                    parameter -= LEARNING_RATE * parameter.grad
        return loss.detach()

    return train_step


def _batch(
    trainer: "Trainer", kind: str, mask: torch.Tensor, advantages: torch.Tensor, old_logprobs: torch.Tensor | None
) -> dict[str, object]:
    rows, width = mask.shape
    batch: dict[str, object] = {
        "prompt_ids": torch.zeros((rows, PROMPT_TOKENS), dtype=torch.long),
        "prompt_mask": torch.ones((rows, PROMPT_TOKENS), dtype=torch.long),
        "completion_ids": torch.full((rows, width), _token(trainer)),
        "completion_mask": mask,
        "advantages": advantages,
        # one accumulation window holds the whole batch, so the rescaling to a window must cancel
        "num_items_in_batch": mask.sum() * trainer.args.steps_per_generation,
    }
    if old_logprobs is not None:
        batch["old_per_token_logps"] = old_logprobs
        if kind == "rloo":
            batch["old_logps"] = (old_logprobs * mask).sum(1)
    return batch


def _training(trainer: "Trainer", **replaced: object) -> AbstractContextManager[None]:
    """The trainer as in the only micro-batch of an optimizer step."""
    return planted(trainer, current_gradient_accumulation_steps=1, **replaced)


def _generating(trainer: "Trainer", completions: list[list[int]], **replaced: object) -> AbstractContextManager[None]:
    """The trainer with canned completions in the place of the sampler's."""
    pair = type(trainer).__name__ != "RLOOTrainer" and "RLOOTrainer" not in {c.__name__ for c in type(trainer).__mro__}

    def canned(*_: object, **__: object) -> object:
        return (completions, None) if pair else completions

    def scored(model: object, ids: torch.Tensor, mask: object, keep: int, *_: object, **__: object) -> object:
        return torch.zeros((ids.shape[0], keep)), None, None

    return planted(
        trainer, **{"_generate_single_turn": canned, "_get_per_token_logps_and_entropies": scored, **replaced}
    )


def _inputs(trainer: "Trainer", count: int) -> list[dict[str, object]]:
    """Rows as the trainer's sampler gives them: a prompt of the data set, repeated."""
    dataset = trainer.train_dataset
    row = dict(dataset[0]) if hasattr(dataset, "__getitem__") else {"prompt": "a"}
    return [dict(row) for _ in range(count)]


def _token(trainer: "Trainer") -> int:
    """A token that is neither padding nor the end."""
    special = {trainer._tokenizer.pad_token_id, *trainer.eos_token_ids}
    return next(index for index in range(len(special) + 1) if index not in special)


def _is_ids(part: list[object]) -> bool:
    first = part[0]
    return isinstance(first, list) and all(isinstance(one, int) for one in first)


class _Backbone(torch.nn.Module):  # type: ignore[misc]  # torch is optional: the type check does not follow it
    """Gives planted hidden states whatever it is asked; the embedding is there because transformers looks for it."""

    def __init__(self, hidden: torch.Tensor, embed_tokens: torch.nn.Module) -> None:
        super().__init__()
        self.hidden = hidden
        self.embed_tokens = embed_tokens

    def forward(self, *_: object, **__: object) -> object:
        return _Hidden(self.hidden)


class _Hidden:
    """What a backbone's output is to the fused head."""

    def __init__(self, hidden: torch.Tensor) -> None:
        self.last_hidden_state = hidden
        self.router_logits = None

    def __getitem__(self, index: int) -> torch.Tensor:
        return (self.last_hidden_state,)[index]
