"""A training loop of one's own, recorded: GRPO on small sums, the policy a table of logits.

    python examples/numpy_loop.py --run runs/numpy-loop && rlprobe doctor runs/numpy-loop
    python examples/numpy_loop.py --run runs/unread --fault && rlprobe doctor runs/unread

With --fault the reward looks for a tag that no completion has. Samples are handed over as they are; the recorder
computes the rewards', groups', advantages' and texts' statistics.
"""

import argparse
from pathlib import Path

import numpy as np

from rlprobe import Recorder

SUMS = [(a, b) for a in range(1, 5) for b in range(1, 5)]  # one prompt each; the answers are the numbers 0 to 9
RIGHT = np.array([[a + b] for a, b in SUMS])
GROUP = 8  # completions of one prompt, which share a baseline
RATE = 3.0  # learning rate


def train(run_dir: Path, *, steps: int = 120, seed: int = 0, fault: bool = False) -> None:
    """Train and record."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(len(SUMS), 10))
    settings = {"learning_rate": RATE, "group_size": GROUP, "batch_prompts": len(SUMS), "kl_coefficient": 0.0}
    with Recorder(run_dir, algorithm="grpo", settings=settings) as recorder:
        for step in range(1, steps + 1):
            chances = softmax(logits)
            answers = np.array([rng.choice(10, size=GROUP, p=row) for row in chances])
            rewards = (answers == RIGHT).astype(float)
            if fault:
                rewards = np.array([["<answer>" in str(answer) for answer in row] for row in answers], dtype=float)
            centred = rewards - rewards.mean(axis=1, keepdims=True)
            advantages = centred / (rewards.std(axis=1, ddof=1, keepdims=True) + 1e-4)
            gradient = policy_gradient(chances, answers, advantages)
            logits += RATE * gradient

            recorder.log_step(step, entropy_mean=entropy(chances), grad_norm=float(np.linalg.norm(gradient)))
            recorder.log_step(step, learning_rate=RATE, accuracy_fraction=float(rewards.mean()))
            recorder.log_samples(step, sample_rows(answers, rewards, advantages))
            if recorder.should_stop:  # somebody has asked through control.json
                break


def softmax(logits: np.ndarray) -> np.ndarray:
    """(prompts, answers) probabilities of (prompts, answers) logits."""
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def entropy(chances: np.ndarray) -> float:
    """Mean entropy of the rows, nats; an answer is one token."""
    return float(-(chances * np.log(chances + 1e-12)).sum(axis=1).mean())


def policy_gradient(chances: np.ndarray, answers: np.ndarray, advantages: np.ndarray) -> np.ndarray:
    """(prompts, answers) mean over samples of advantage times the gradient of the answer's log-prob."""
    picked = np.eye(10)[answers]
    return np.einsum("pg,pga->pa", advantages, picked - chances[:, None, :]) / answers.size


def sample_rows(answers: np.ndarray, rewards: np.ndarray, advantages: np.ndarray) -> list[dict[str, object]]:
    """One row a sample; the names are those of docs/recording-format.md."""
    return [
        {
            "group": f"{a}+{b}",
            "prompt": f"{a}+{b}=",
            "completion": str(answers[p, g]),
            "completion_tokens": 1,
            "reward": float(rewards[p, g]),
            "advantage": float(advantages[p, g]),
            "stop_reason": "eos",
        }
        for p, (a, b) in enumerate(SUMS)
        for g in range(GROUP)
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", default="runs/numpy-loop")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--fault", action="store_true", help="let the reward look for a tag that no completion has")
    arguments = parser.parse_args()
    train(Path(arguments.run), steps=arguments.steps, fault=arguments.fault)
