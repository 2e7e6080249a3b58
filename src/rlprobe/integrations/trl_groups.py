"""What a step of a GRPO or RLOO trainer becomes: its metrics, and its samples with what the loss knows of them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rlprobe.integrations.trl_step import StepRecord, loss_columns, loss_metrics
from rlprobe.integrations.trl_watch import Part, added_up

if TYPE_CHECKING:
    from rlprobe.integrations.trl_hooks import Hooks


def group_step_metrics(hooks: "Hooks", record: StepRecord, raw: dict[str, float]) -> dict[str, float]:
    """What was computed from all samples over what the trainer sums up."""
    out = {**raw, "kl_coefficient": float(hooks.trainer.beta)}
    for name in hooks.rules.names:
        if record.rollouts and all(each.silent(name) for each in record.rollouts):
            out.pop(f"reward_component_mean/{name}", None)  # it had nothing to say: TRL's NaN is no number gone bad
            out.pop(f"reward_component_std/{name}", None)
    if getattr(hooks.trainer, "scale_rewards", "group") == "batch" or hooks.rules.normalize_each:
        out.pop("zero_variance_group_fraction", None)  # TRL's is of the batch then, not of groups
    own = loss_metrics(record, whole_sequences=hooks.whole_sequences)
    _choose(hooks, out, own)
    out |= own
    out |= combined([(len(each), each.metrics()) for each in record.rollouts])
    out |= _loss_terms(record, own)
    if hooks.trainer.accelerator.num_processes > 1 and record.busy:
        out["busy_seconds"] = record.busy
    if record.rollouts and (seconds := record.facts.get("step_seconds")):
        out["tokens_per_second"] = sum(each.tokens for each in record.rollouts) / seconds
    return out


def group_samples(hooks: "Hooks", record: StepRecord) -> list[Part]:
    """The samples that the step generated, whole rollouts at once, with what its loss knows of them."""
    parts: list[Part] = []
    for rollout in record.rollouts:
        rows = rollout.rows() | loss_columns(rollout, record, whole_sequences=hooks.whole_sequences)
        if hooks.with_tokens:
            rows["token_ids"] = [np.asarray(ids, dtype=np.int32) for ids in rollout.scored.token_ids]
        parts.append(rows)
    return parts


def _choose(hooks: "Hooks", raw: dict[str, float], own: dict[str, float]) -> None:
    """Leave one of two values for a metric: the trainer's where it is of every rank, ours for the divergence.

    TRL's `kl` is of scoring time in RLOO and may be multiplied by the ratio in GRPO; it is kept under its own name.
    """
    if hooks.trainer.accelerator.num_processes > 1 and not hooks.rloo:
        own.pop("kl_mean", None)
    elif "kl_mean" in own and "kl_mean" in raw:
        raw["trl/kl"] = raw.pop("kl_mean")
    for name in raw.keys() & own.keys():
        del own[name]


def _loss_terms(record: StepRecord, own: Mapping[str, float]) -> dict[str, float]:
    if not record.losses:
        return {}
    loss = added_up(record.losses)
    if not record.separable:
        return {"loss": loss}
    others = sum(own.get(name, 0.0) for name in ("kl_loss", "entropy_loss", "auxiliary_loss"))
    return {"loss": loss, "policy_loss": loss - others}


def combined(parts: Sequence[tuple[int, Mapping[str, float]]]) -> dict[str, float]:
    """Several rollouts' metrics as one: seconds add up, the rest is weighted by samples."""
    names = dict.fromkeys(name for _, part in parts for name in part)
    out = {}
    for name in names:
        here = [(weight, part[name]) for weight, part in parts if name in part]
        if name.startswith("reward_function_seconds/"):
            out[name] = sum(value for _, value in here)
        else:
            out[name] = sum(weight * value for weight, value in here) / sum(weight for weight, _ in here)
    return out
