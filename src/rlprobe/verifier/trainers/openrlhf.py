"""The functions of an installed OpenRLHF as a Pipeline: `rlprobe verify rlprobe.verifier.trainers.openrlhf:pipeline`.

Tried with OpenRLHF 0.11.2: its own `models.loss` and `models.utils`; its advantages are computed inside Ray actors and
cannot be handed over.
"""

from rlprobe.verifier.pipeline import Pipeline
from rlprobe.verifier.trainers.planting import stands_for


def pipeline(
    *, clip_low: float = 0.2, clip_high: float = 0.2, token_level: bool = True, gspo: bool = False
) -> Pipeline:
    """OpenRLHF's policy loss, value loss, DPO loss, KL and log-prob functions.

    Raises:
        ImportError: OpenRLHF is not installed.
    """
    from openrlhf.models import loss as losses
    from openrlhf.models import utils

    kind = "gspo" if gspo else "ppo"
    policy = losses.PolicyLoss(clip_low, clip_high, token_level_loss=token_level, policy_loss_type=kind)
    value, preference = losses.ValueLoss(0.2), losses.DPOLoss(0.1)

    def kl(logprobs: object, ref_logprobs: object) -> object:
        return utils.compute_approx_kl(logprobs, ref_logprobs, kl_estimator="k3")

    return Pipeline(
        logprobs=utils.log_probs_from_logits,
        loss=policy,
        value_loss=value,
        dpo_loss=preference,
        kl=stands_for(utils.compute_approx_kl)(kl),
        declare={
            "aggregation": "token_mean" if token_level and not gspo else "sequence_mean",
            "ratio": "sequence" if gspo else "token",
            "clip_low": clip_low,
            "clip_high": clip_high,
            "kl_estimator": "k3",
            "dpo_beta": 0.1,
        },
    )
