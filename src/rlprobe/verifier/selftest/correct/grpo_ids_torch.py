"""GRPO on token-level rewards with groups by prompt id: one number a sample, spread over the response's tokens."""

from collections import defaultdict

import torch

from rlprobe.verifier.pipeline import Pipeline


def grpo_outcome_advantage(token_level_rewards, response_mask, index, epsilon=1e-6, norm_adv_by_std_in_grpo=True):
    scores = token_level_rewards.sum(dim=-1)
    id2score = defaultdict(list)
    id2mean, id2std = {}, {}
    with torch.no_grad():
        for i in range(scores.shape[0]):
            id2score[int(index[i])].append(scores[i])
        for idx, members in id2score.items():
            if len(members) == 1:
                id2mean[idx], id2std[idx] = torch.tensor(0.0), torch.tensor(1.0)
            else:
                stacked = torch.stack(members)
                id2mean[idx], id2std[idx] = stacked.mean(), stacked.std()
        result = scores.clone()
        for i in range(scores.shape[0]):
            idx = int(index[i])
            result[i] = scores[i] - id2mean[idx]
            if norm_adv_by_std_in_grpo:
                result[i] = result[i] / (id2std[idx] + epsilon)
        result = result.unsqueeze(-1) * response_mask
    return result, result


def vectorised(token_level_rewards, response_mask, index, epsilon=1e-6):
    scores = token_level_rewards.sum(dim=-1)
    groups, inverse = torch.unique(index, return_inverse=True)
    count = torch.zeros(len(groups), dtype=scores.dtype).index_add_(0, inverse, torch.ones_like(scores))
    mean = torch.zeros(len(groups), dtype=scores.dtype).index_add_(0, inverse, scores) / count
    centred = scores - mean[inverse]
    squares = torch.zeros(len(groups), dtype=scores.dtype).index_add_(0, inverse, centred**2)
    std = (squares / (count - 1).clamp(min=1)).sqrt()
    single = count == 1
    mean = torch.where(single, torch.zeros_like(mean), mean)
    std = torch.where(single, torch.ones_like(std), std)
    return ((scores - mean[inverse]) / (std[inverse] + epsilon)).unsqueeze(-1) * response_mask


def entropy_from_logits(logits):
    pd = torch.nn.functional.softmax(logits, dim=-1)
    return torch.logsumexp(logits, dim=-1) - torch.sum(pd * logits, dim=-1)


def logprobs_from_logits(logits, labels, temperature=1.0):
    logits = logits / temperature
    logp = torch.nn.functional.log_softmax(logits, dim=-1)
    return torch.gather(logp, dim=-1, index=labels.unsqueeze(-1)).squeeze(-1)


def chunked_logprobs(logits, labels, temperature=1.0):
    rows = []
    for row_logits, row_labels in zip(logits, labels, strict=True):
        row_logits = row_logits / temperature
        picked = row_logits.gather(-1, row_labels.unsqueeze(-1)).squeeze(-1)
        rows.append(picked - row_logits.logsumexp(-1))
    return torch.stack(rows)


def make():
    return Pipeline(
        advantages=grpo_outcome_advantage,
        logprobs=logprobs_from_logits,
        entropy=entropy_from_logits,
        alternatives={"advantages": vectorised, "logprobs": chunked_logprobs},
        declare={"algorithm": "grpo"},
    )
