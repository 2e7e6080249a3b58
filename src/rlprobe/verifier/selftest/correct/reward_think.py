"""Two rewards on messages: the form <think>, <answer>, and the answer inside the tag; weights in the configuration."""

import re

from rlprobe.verifier.pipeline import Pipeline

FORM = re.compile(r"^<think>.*?</think>\s*<answer>.*?</answer>$", re.DOTALL)
ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
ROWS = [
    {"prompt": [{"role": "user", "content": "What is 40 + 2?"}], "solution": "42"},
    {"prompt": [{"role": "user", "content": "What is the capital of France?"}], "solution": "Paris"},
    {"prompt": [{"role": "user", "content": "What is 9 * 9?"}], "solution": "81"},
]


def format_reward(completions, **kwargs):
    texts = [completion[0]["content"] for completion in completions]
    return [1.0 if FORM.match(text.strip()) else 0.0 for text in texts]


def answer_reward(completions, solution, **kwargs):
    scores = []
    for completion, truth in zip(completions, solution):
        found = ANSWER.findall(completion[0]["content"])
        said = found[-1].strip() if found else ""
        scores.append(float(said.lower() == truth.strip().lower()) if said else 0.0)
    return scores


def make():
    return Pipeline(reward=[format_reward, answer_reward], dataset=ROWS, config={"reward_weights": [0.2, 1.0]})
