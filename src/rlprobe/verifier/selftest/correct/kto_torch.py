"""KTO on pairs, as TRL had it: each side against the other side's mean log-ratio, which gets no gradient."""

import torch

from rlprobe.verifier.pipeline import Pipeline

BETA = 0.1


def kto_pair(policy_chosen, policy_rejected, reference_chosen, reference_rejected):
    chosen_logratios = policy_chosen - reference_chosen
    rejected_logratios = policy_rejected - reference_rejected
    chosen_kl = chosen_logratios.mean().clamp(min=0).detach()
    rejected_kl = rejected_logratios.mean().clamp(min=0).detach()
    chosen_loss = 1 - torch.sigmoid(BETA * (chosen_logratios - rejected_kl))
    rejected_loss = 1 - torch.sigmoid(BETA * (chosen_kl - rejected_logratios))
    return torch.cat((chosen_loss, rejected_loss), 0).mean()


def make():
    return Pipeline(dpo_loss=kto_pair, declare={"dpo_loss_type": "kto", "dpo_beta": BETA})
