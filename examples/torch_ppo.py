"""PPO with a value head from scratch in torch, recorded: a recurrent policy learns to repeat the prompt's digit.

    python examples/torch_ppo.py --run runs/torch-ppo && rlprobe doctor runs/torch-ppo
    python examples/torch_ppo.py --run runs/astray --fault && rlprobe doctor runs/astray

With --fault the value head learns a hundred times as fast as it can: its predictions leave the returns behind.
"""

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn

from rlprobe import Recorder

PAD, END, FIRST = 0, 1, 2  # tokens; the digits follow from FIRST on
LONGEST, WANTED = 6, 3  # tokens of a completion at most, and digits of a right one
SAMPLES, RATE, VALUE_RATE, EPSILON, PASSES = 64, 5e-3, 1e-2, 0.2, 2
GAMMA, LAMBDA, BONUS = 1.0, 0.95, 0.03  # the last is the coefficient of the entropy bonus


class Policy(nn.Module):
    """Logits of the next token and the value of what is there so far, each of a recurrent state of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(FIRST + 10, 32)
        self.memory = nn.GRU(32, 64, batch_first=True)
        self.head = nn.Linear(64, FIRST + 10)
        self.value_memory = nn.GRU(32, 64, batch_first=True)
        self.value_head = nn.Linear(64, 1)

    def forward(self, ids: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(B, T, tokens) logits and the state after (B, T) token ids; padding is never sampled."""
        hidden, state = self.memory(self.embedding(ids), state)
        return self.head(hidden).index_fill(-1, torch.tensor([PAD]), -30.0), state

    def values(self, ids: Tensor) -> Tensor:
        """(B, T) values of the states after (B, T) token ids; they do not train the policy's embedding."""
        return self.value_head(self.value_memory(self.embedding(ids).detach())[0])[..., 0]


@torch.no_grad()
def sample(policy: Policy, prompts: Tensor) -> Tensor:
    """(B, LONGEST) completions of (B,) prompts, padded behind their end."""
    token, state, columns = prompts[:, None], None, []
    ended = torch.zeros(len(prompts), dtype=torch.bool)
    for _ in range(LONGEST):
        logits, state = policy(token, state)
        token = torch.multinomial(logits[:, -1].softmax(-1), 1)
        columns.append(torch.where(ended, PAD, token[:, 0]))
        ended |= token[:, 0] == END
    return torch.stack(columns, dim=1)


def token_rewards(prompts: Tensor, completions: Tensor) -> Tensor:
    """(B, T) rewards: a third for each of the first WANTED tokens that repeats the prompt, a half for an end there."""
    rewards = (completions == prompts[:, None]).float() / WANTED
    rewards[:, WANTED:] = 0.0
    rewards[:, WANTED] = 0.5 * (completions[:, WANTED] == END)
    return rewards


def advantages_of(rewards: Tensor, values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """(B, T) generalised advantages, whitened over the tokens, and (B, T) returns."""
    raw, carried = torch.zeros_like(rewards), torch.zeros(len(rewards))
    for place in reversed(range(rewards.shape[1])):
        following = values[:, place + 1] * mask[:, place + 1] if place + 1 < rewards.shape[1] else 0.0
        error = rewards[:, place] + GAMMA * following - values[:, place]
        carried = (error + GAMMA * LAMBDA * carried) * mask[:, place]
        raw[:, place] = carried
    inside = raw[mask.bool()]
    return (raw - inside.mean()) / (inside.std() + 1e-8) * mask, raw + values


def train(run_dir: Path, *, steps: int = 100, seed: int = 0, fault: bool = False) -> None:
    """Train and record."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # the model is too small for more to help
    policy = Policy()
    rate = VALUE_RATE * (100 if fault else 1)
    for_values = [*policy.value_memory.parameters(), *policy.value_head.parameters()]
    chosen = {id(each) for each in for_values}
    of_policy = [each for each in policy.parameters() if id(each) not in chosen]
    optimizer = torch.optim.Adam([{"params": of_policy, "lr": RATE}, {"params": for_values, "lr": rate}])
    settings = {"learning_rate": RATE, "value_learning_rate": rate, "clip_low": EPSILON, "clip_high": EPSILON}
    settings |= {
        "kl_coefficient": 0.0,
        "entropy_coefficient": BONUS,
        "updates_per_rollout": PASSES,
        "max_completion_tokens": LONGEST,
    }
    with Recorder(run_dir, algorithm="ppo", settings=settings) as recorder:
        for step in range(1, steps + 1):
            prompts = torch.randint(FIRST, FIRST + 10, (SAMPLES,))
            completions = sample(policy, prompts)
            mask = (completions != PAD).float()
            ids = torch.cat([prompts[:, None], completions[:, :-1]], dim=1)
            rewards = token_rewards(prompts, completions) * mask
            with torch.no_grad():
                old = logprobs_of(policy, ids, completions)[0]
                advantages, returns = advantages_of(rewards, policy.values(ids) * mask, mask)
            for _ in range(PASSES):
                metrics = update(policy, optimizer, (ids, completions, mask), (advantages, returns, old))
            totals = rewards.sum(1)
            recorder.log_step(step, metrics, learning_rate=RATE, value_learning_rate=rate)
            recorder.log_step(step, accuracy_fraction=float((totals > 1.4).float().mean()))
            recorder.log_samples(step, sample_columns(prompts, completions, totals, advantages, mask))
            if recorder.should_stop:  # somebody has asked through control.json
                break


def logprobs_of(policy: Policy, ids: Tensor, completions: Tensor) -> tuple[Tensor, Tensor]:
    """(B, T) log-probs of the completions' tokens, and (B, T) entropies, nats."""
    lines = policy(ids)[0].log_softmax(-1)
    return lines.gather(-1, completions[..., None])[..., 0], -(lines.exp() * lines).sum(-1)


def update(
    policy: Policy,
    optimizer: torch.optim.Optimizer,
    texts: tuple[Tensor, Tensor, Tensor],
    targets: tuple[Tensor, Tensor, Tensor],
) -> dict[str, Tensor]:
    """One clipped pass over the rollout, and its numbers under the names of docs/recording-format.md."""
    ids, completions, mask = texts
    advantages, returns, old = targets
    logprobs, entropy = logprobs_of(policy, ids, completions)
    values = policy.values(ids)
    ratio, tokens = (logprobs - old).exp(), mask.sum()
    gain = torch.minimum(ratio * advantages, ratio.clamp(1 - EPSILON, 1 + EPSILON) * advantages)
    policy_loss = -(gain * mask).sum() / tokens
    value_loss = (0.5 * (values - returns) ** 2 * mask).sum() / tokens
    optimizer.zero_grad()
    bonus = BONUS * (entropy * mask).sum() / tokens
    (policy_loss + value_loss - bonus).backward()
    norm = nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimizer.step()
    inside = mask.bool()
    left = (returns - values.detach())[inside].var() / (returns[inside].var() + 1e-8)
    return {
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "value_explained_variance": 1.0 - left,
        "value_mean": values[inside].mean(),
        "return_mean": returns[inside].mean(),
        "grad_norm": norm,
        "entropy_mean": (entropy * mask).sum() / tokens,
        "ratio_mean": (ratio * mask).sum() / tokens,
        "clip_fraction": ((gain < ratio * advantages) * mask).sum() / tokens,
    }


def sample_columns(
    prompts: Tensor, completions: Tensor, rewards: Tensor, advantages: Tensor, mask: Tensor
) -> dict[str, list[object]]:
    """The samples as columns; the names are those of docs/recording-format.md."""
    lengths = mask.sum(1).int().tolist()
    kept = [row[:length].numpy() for row, length in zip(completions, lengths, strict=True)]
    return {
        "prompt": [text([token]) for token in prompts.tolist()],
        "completion": [text(row.tolist()) for row in kept],
        "reward": rewards.tolist(),
        "advantage": (advantages.sum(1) / mask.sum(1)).tolist(),
        "completion_tokens": lengths,
        "stop_reason": ["eos" if END in row else "length" for row in kept],
        "token_ids": kept,
    }


def text(tokens: list[int]) -> str:
    """The digits among the tokens."""
    return "".join(str(token - FIRST) for token in tokens if token >= FIRST)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", default="runs/torch-ppo")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--fault", action="store_true", help="let the value head learn a hundred times as fast")
    arguments = parser.parse_args()
    train(Path(arguments.run), steps=arguments.steps, fault=arguments.fault)
