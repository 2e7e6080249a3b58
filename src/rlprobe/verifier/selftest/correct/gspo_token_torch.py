"""GSPO-token as verl has it: the sequence ratio with the gradient of the token's own log-prob."""

import torch

from rlprobe.verifier.pipeline import Pipeline


def compute_policy_loss_gspo(
    log_prob, old_log_prob, advantages, response_mask, clip_ratio_low=0.0003, clip_ratio_high=0.0004
):
    negative_approx_kl = log_prob - old_log_prob
    seq_lengths = torch.sum(response_mask, dim=-1).clamp(min=1)
    negative_approx_kl_seq = torch.sum(negative_approx_kl * response_mask, dim=-1) / seq_lengths
    log_seq_importance_ratio = log_prob - log_prob.detach() + negative_approx_kl_seq.detach().unsqueeze(-1)
    log_seq_importance_ratio = torch.clamp(log_seq_importance_ratio, max=10.0)
    seq_importance_ratio = torch.exp(log_seq_importance_ratio)
    pg_losses1 = -advantages * seq_importance_ratio
    pg_losses2 = -advantages * torch.clamp(seq_importance_ratio, 1 - clip_ratio_low, 1 + clip_ratio_high)
    pg_losses = torch.maximum(pg_losses1, pg_losses2)
    seq_losses = torch.sum(pg_losses * response_mask, dim=-1) / seq_lengths
    return torch.mean(seq_losses), {"ratio": seq_importance_ratio.detach().mean()}


def make():
    return Pipeline(
        loss=compute_policy_loss_gspo, declare={"algorithm": "gspo", "loss_agg_mode": "seq-mean-token-mean"}
    )
