"""The functions of an installed verl as a Pipeline: `rlprobe verify rlprobe.verifier.trainers.verl:pipeline`.

Tried with verl 0.9.0: its own `core_algos` and `torch_functional`, no workers and no engine.
"""

from rlprobe.verifier.pipeline import Pipeline
from rlprobe.verifier.trainers.planting import stands_for

ADVANTAGES = {
    "grpo": "compute_grpo_outcome_advantage",
    "rloo": "compute_rloo_outcome_advantage",
}
LOSSES = {"vanilla": "compute_policy_loss_vanilla", "gspo": "compute_policy_loss_gspo"}


def pipeline(
    *,
    advantage: str = "grpo",
    loss: str = "vanilla",
    aggregation: str = "",
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    kl: str = "low_var_kl",
) -> Pipeline:
    """verl's advantage, policy loss, value loss, KL, GAE, whitening and log-prob functions.

    Raises:
        ImportError: verl is not installed.
        KeyError: there is no such advantage estimator or loss here.
    """
    from verl.trainer.ppo import core_algos
    from verl.utils import torch_functional

    mode = aggregation or ("seq-mean-token-mean" if loss == "gspo" else "token-mean")
    actor = _actor(core_algos.ActorConfig, clip_low, clip_high)
    policy_loss = getattr(core_algos, LOSSES[loss])

    def computed(old_log_prob: object, log_prob: object, advantages: object, response_mask: object) -> object:
        return policy_loss(old_log_prob, log_prob, advantages, response_mask, mode, config=actor)[0]

    def penalty(logprob: object, ref_logprob: object) -> object:
        return core_algos.kl_penalty(logprob, ref_logprob, kl)

    def value_loss(values: object, old_values: object, returns: object, mask: object) -> object:
        return core_algos.compute_value_loss(values, returns, old_values, mask, 0.2)[0]

    estimators = {"kl": "k1", "abs": "abs", "mse": "k2", "low_var_kl": "k3"}
    return Pipeline(
        logprobs=torch_functional.logprobs_from_logits_naive,
        advantages=getattr(core_algos, ADVANTAGES[advantage]),
        gae=core_algos.compute_gae_advantage_return,
        whiten=torch_functional.masked_whiten,
        kl=stands_for(core_algos.kl_penalty)(penalty),
        loss=stands_for(policy_loss)(computed),
        value_loss=stands_for(core_algos.compute_value_loss)(value_loss),
        declare={
            "algorithm": {"grpo": "grpo", "rloo": "rloo"}[advantage],
            "aggregation": mode,
            "ratio": "sequence" if loss == "gspo" else "token",
            "clip_low": clip_low,
            "clip_high": clip_high,
            "kl_estimator": estimators.get(kl, kl),
        },
    )


def _actor(kind: type, clip_low: float, clip_high: float) -> object:
    """verl's actor configuration with what its losses read; its constructor wants all settings of a training."""
    actor: object = object.__new__(kind)
    read = {"clip_ratio": clip_low, "clip_ratio_low": clip_low, "clip_ratio_high": clip_high, "clip_ratio_c": 3.0}
    for name, value in {**read, "global_batch_info": {}}.items():
        object.__setattr__(actor, name, value)  # the class is frozen
    return actor
