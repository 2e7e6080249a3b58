"""Conservative DPO: a tenth of the labels is taken for wrong."""

import torch
import torch.nn.functional as F

from rlprobe.verifier.pipeline import Pipeline

BETA = 0.2
SMOOTHING = 0.1


def preference_loss(pi_chosen, pi_rejected, ref_chosen, ref_rejected):
    pi_logratios = pi_chosen - pi_rejected
    ref_logratios = ref_chosen - ref_rejected
    margin = BETA * (pi_logratios - ref_logratios)
    loss = F.softplus(-margin) * (1 - SMOOTHING) + F.softplus(margin) * SMOOTHING
    return torch.mean(loss)


def make():
    return Pipeline(
        dpo_loss=preference_loss, declare={"dpo_loss_type": "sigmoid", "dpo_beta": BETA, "label_smoothing": SMOOTHING}
    )
