"""What a user hands over: functions of his own pipeline, in any mixture, and what he declares of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

FUNCTIONS = (  # slots that a command line can fill: each a function
    "reward",
    "advantages",
    "gae",
    "whiten",
    "logprobs",
    "entropy",
    "loss",
    "kl",
    "value_loss",
    "dpo_loss",
    "decode",
    "completion_mask",
)


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """The user's functions and objects, each optional; what is absent is told as not checkable.

    Arrays go in and come out as numpy arrays, torch tensors or lists; the verifier finds out which. B rows, T tokens,
    V vocabulary, N samples; log-probs are natural logarithms.

    Attributes:
        logprobs: (logits[B,T,V], ids[B,T], temperature=) -> [B,T] or, shifted inside, [B,T-1].
        completion_mask: (completion_ids[B,T], eos_id, pad_id=) -> [B,T], 1 where the loss looks.
        advantages: (rewards[N], group_size) or (rewards[N], group_ids[N]) or (rewards[P,G]) -> that shape, or [N,T].
        gae: (rewards[B,T], values[B,T], mask=, gamma=, lam=) -> advantages[B,T], or a tuple that begins with them.
        whiten: (values[B,T], mask[B,T]) -> [B,T].
        kl: (logprobs[B,T], ref_logprobs[B,T]) -> per-token estimate [B,T].
        loss: (logprobs, old_logprobs, advantages, mask, ref_logprobs=) -> scalar, or a tuple or dict with it.
        dpo_loss: (chosen, rejected, ref_chosen, ref_rejected log-probs [B]) -> scalar or [B].
        value_loss: (values, old_values, returns, mask) -> scalar.
        entropy: (logits[B,T,V], mask=) -> [B,T] or scalar, nats.
        reward: (completions, prompts=, **columns) -> list of numbers, or (completion) -> number; or several of them.
        decode: (ids, tokenizer=) -> text, or texts of a batch.
        tokenizer: with encode and decode.
        model, ref_model: torch modules; only copies of them are ever changed.
        score: (model, ids[B,T], mask[B,T]) -> per-token log-probs by that model.
        optimizer: of the policy; never stepped.
        train_step: (model, optimizer, ids, mask, ...) -> anything; makes one update, taken back afterwards.
        engine_logprobs: (ids[B,T]) -> per-token log-probs by the sampler.
        dataset: rows as mappings, in a list, a Dataset or a DataFrame; a row with a gold "completion" or "answer" lets
            rewards be told apart.
        config: the settings with which the functions are called in training.
        declare: what the code is meant to do (algorithm, baseline, clip_low, loss_type ...); names in declared.py.
        map: role -> the user's parameter name, for all slots or {slot: {role: name}}.
        alternatives: second implementations of a slot that must agree with the first ({"loss": fused_loss}).
    """

    logprobs: object = None
    completion_mask: object = None
    advantages: object = None
    gae: object = None
    whiten: object = None
    kl: object = None
    loss: object = None
    dpo_loss: object = None
    value_loss: object = None
    entropy: object = None
    reward: object = None
    decode: object = None
    tokenizer: object = None
    model: object = None
    ref_model: object = None
    score: object = None
    optimizer: object = None
    train_step: object = None
    engine_logprobs: object = None
    dataset: Sequence[Mapping[str, object]] | None = None
    config: Mapping[str, object] | object = field(default_factory=dict)
    declare: Mapping[str, object] = field(default_factory=dict)
    map: Mapping[str, object] = field(default_factory=dict)
    alternatives: Mapping[str, object] = field(default_factory=dict)

    def slots(self) -> tuple[str, ...]:
        """Names of the slots that were filled."""
        described = ("config", "declare", "map", "alternatives")
        return tuple(
            one.name for one in fields(self) if one.name not in described and getattr(self, one.name) is not None
        )
