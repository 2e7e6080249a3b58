"""Rewards with arrays: OpenRLHF's (queries, prompts, labels), a soft length penalty, an asynchronous one that abstains."""

import re

import numpy as np

from rlprobe.verifier.pipeline import Pipeline

LIMIT, BUFFER = 600, 200


def reward_func(queries, prompts, labels):
    scores = np.zeros(len(queries))
    for row, (query, prompt, label) in enumerate(zip(queries, prompts, labels)):
        response = query[len(prompt) :]
        found = re.search(r"answer is\s*(-?\d+)", response, re.IGNORECASE)
        scores[row] = 1.0 if found and int(found.group(1)) == int(label) else -1.0
    return {"rewards": scores, "scores": scores, "extra_logs": {"accuracy": (scores > 0).mean()}}


def length_penalty(completions, **kwargs):
    lengths = np.array([len(completion) for completion in completions])
    over = np.clip(lengths - (LIMIT - BUFFER), 0, BUFFER) / BUFFER
    return -over


async def judged(completions, **kwargs):
    return [None if not completion.strip() else float("sum" in completion) for completion in completions]


def make():
    return Pipeline(reward=(reward_func, length_penalty, judged))
