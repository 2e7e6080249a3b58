"""IPO (2023): the margin is drawn to 1 / (2 beta)."""

from rlprobe.verifier.pipeline import Pipeline


def ipo_loss(chosen_logps, rejected_logps, ref_chosen_logps, ref_rejected_logps, beta):
    import torch

    margin = (chosen_logps - rejected_logps) - (ref_chosen_logps - ref_rejected_logps)
    return torch.square(margin - 1 / (2 * beta)).mean()


def make():
    return Pipeline(dpo_loss=ipo_loss, declare={"algorithm": "dpo", "dpo_loss_type": "ipo", "dpo_beta": 0.1})
