"""DPO (2023) with the sigmoid loss and label smoothing as an argument."""

import torch.nn.functional as F

from rlprobe.verifier.pipeline import Pipeline


def dpo_loss(
    policy_chosen_logps,
    policy_rejected_logps,
    reference_chosen_logps,
    reference_rejected_logps,
    beta=0.1,
    label_smoothing=0.0,
):
    chosen_logratios = policy_chosen_logps - reference_chosen_logps
    rejected_logratios = policy_rejected_logps - reference_rejected_logps
    logits = chosen_logratios - rejected_logratios
    losses = -F.logsigmoid(beta * logits) * (1 - label_smoothing) - F.logsigmoid(-beta * logits) * label_smoothing
    return losses, beta * chosen_logratios.detach(), beta * rejected_logratios.detach()


def make():
    return Pipeline(dpo_loss=dpo_loss, declare={"algorithm": "dpo", "dpo_beta": 0.1})
