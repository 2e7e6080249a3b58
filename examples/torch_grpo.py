"""GRPO from scratch in torch, recorded: a small recurrent policy learns to repeat the prompt's digit three times.

    python examples/torch_grpo.py --run runs/torch-grpo && rlprobe doctor runs/torch-grpo
    python examples/torch_grpo.py --run runs/flipped --fault && rlprobe doctor runs/flipped

With --fault the baseline is subtracted the wrong way round, as in `group_mean - reward`.
"""

import argparse
import copy
from pathlib import Path

import torch
from torch import Tensor, nn

from rlprobe import Recorder

PAD, END, FIRST = 0, 1, 2  # tokens; the digits follow from FIRST on
LONGEST, WANTED = 8, 3  # tokens of a completion at most, and digits of a right one
PROMPTS, GROUP = 8, 8  # prompts a step, completions of each, which share a baseline
RATE, BETA, EPSILON, PASSES = 5e-3, 0.01, 0.2, 2


class Policy(nn.Module):
    """Logits of the next token, of a recurrent state that begins with the prompt's digit."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(FIRST + 10, 32)
        self.memory = nn.GRU(32, 64, batch_first=True)
        self.head = nn.Linear(64, FIRST + 10)

    def forward(self, ids: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(B, T, tokens) logits and the state after (B, T) token ids; padding is never sampled."""
        hidden, state = self.memory(self.embedding(ids), state)
        logits = self.head(hidden)
        return logits.index_fill(-1, torch.tensor([PAD]), -30.0), state


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


def scores(prompts: Tensor, completions: Tensor) -> Tensor:
    """(B,) rewards: the fraction of the first WANTED tokens that repeat the prompt; half as much for an end there."""
    right = (completions[:, :WANTED] == prompts[:, None]).float().mean(1)
    return right + 0.25 * (completions[:, WANTED] == END) + 0.25 * (completions == END).any(1)


def logprobs_of(policy: Policy, prompts: Tensor, completions: Tensor) -> tuple[Tensor, Tensor]:
    """(B, T) log-probs of the completions' tokens, and (B, T) entropies, nats."""
    lines = policy(torch.cat([prompts[:, None], completions[:, :-1]], dim=1))[0].log_softmax(-1)
    return lines.gather(-1, completions[..., None])[..., 0], -(lines.exp() * lines).sum(-1)


def train(run_dir: Path, *, steps: int = 100, seed: int = 0, fault: bool = False) -> None:
    """Train and record."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # the model is too small for more to help
    policy = Policy()
    reference = copy.deepcopy(policy)
    optimizer = torch.optim.Adam(policy.parameters(), lr=RATE)
    settings = {"learning_rate": RATE, "kl_coefficient": BETA, "clip_low": EPSILON, "clip_high": EPSILON}
    settings |= {"group_size": GROUP, "batch_prompts": PROMPTS, "updates_per_rollout": PASSES}
    with Recorder(run_dir, algorithm="grpo", settings=settings | {"max_completion_tokens": LONGEST}) as recorder:
        for step in range(1, steps + 1):
            prompts = torch.randint(FIRST, FIRST + 10, (PROMPTS,)).repeat_interleave(GROUP)
            completions = sample(policy, prompts)
            rewards = scores(prompts, completions)
            groups = rewards.view(PROMPTS, GROUP)
            centred = groups - groups.mean(1, keepdim=True)
            advantages = (centred / (groups.std(1, keepdim=True) + 1e-4)).flatten()
            if fault:
                advantages = -advantages

            mask = (completions != PAD).float()
            with torch.no_grad():
                old = logprobs_of(policy, prompts, completions)[0]
                fixed = logprobs_of(reference, prompts, completions)[0]
            for _ in range(PASSES):
                update(policy, optimizer, recorder, step, (prompts, completions, mask), (advantages, old, fixed))
            recorder.log_step(step, learning_rate=RATE, accuracy_fraction=float((rewards == 1.5).float().mean()))
            recorder.log_samples(step, sample_columns(prompts, completions, rewards, advantages, old))
            if recorder.should_stop:  # somebody has asked through control.json
                break


def update(
    policy: Policy,
    optimizer: torch.optim.Optimizer,
    recorder: Recorder,
    step: int,
    texts: tuple[Tensor, Tensor, Tensor],
    targets: tuple[Tensor, Tensor, Tensor],
) -> None:
    """One clipped pass over the rollout; its numbers are recorded, of several passes the last one's stay."""
    prompts, completions, mask = texts
    advantages, old, fixed = targets
    logprobs, entropy = logprobs_of(policy, prompts, completions)
    ratio = (logprobs - old).exp()
    clipped = ratio.clamp(1 - EPSILON, 1 + EPSILON)
    gain = torch.minimum(ratio * advantages[:, None], clipped * advantages[:, None])
    difference = fixed - logprobs
    kl = difference.exp() - difference - 1
    loss = (((BETA * kl - gain) * mask).sum(1) / mask.sum(1)).mean()
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimizer.step()
    tokens = mask.sum()
    recorder.log_step(
        step,
        loss=loss,
        grad_norm=norm,
        entropy_mean=(entropy * mask).sum() / tokens,
        kl_mean=(kl * mask).sum() / tokens,
        ratio_mean=(ratio * mask).sum() / tokens,
        clip_fraction=((gain < ratio * advantages[:, None]) * mask).sum() / tokens,
    )


def sample_columns(
    prompts: Tensor, completions: Tensor, rewards: Tensor, advantages: Tensor, old: Tensor
) -> dict[str, list[object]]:
    """The samples as columns; the names are those of docs/recording-format.md."""
    lengths = (completions != PAD).sum(1).tolist()
    kept = [row[:length].numpy() for row, length in zip(completions, lengths, strict=True)]
    return {
        "group": [str(place // GROUP) for place in range(len(prompts))],
        "prompt": [text([token]) for token in prompts.tolist()],
        "completion": [text(row.tolist()) for row in kept],
        "reward": rewards.tolist(),
        "advantage": advantages.tolist(),
        "completion_tokens": lengths,
        "stop_reason": ["eos" if END in row else "length" for row in kept],
        "token_ids": kept,
        "token_old_logprobs": [row[:length].numpy() for row, length in zip(old, lengths, strict=True)],
    }


def text(tokens: list[int]) -> str:
    """The digits among the tokens."""
    return "".join(str(token - FIRST) for token in tokens if token >= FIRST)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", default="runs/torch-grpo")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--fault", action="store_true", help="subtract the baseline the wrong way round")
    arguments = parser.parse_args()
    train(Path(arguments.run), steps=arguments.steps, fault=arguments.fault)
