"""A reward of one completion at a time with the true answer beside it, numbers compared as numbers."""

import re

from rlprobe.verifier.pipeline import Pipeline

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def last_number(text):
    found = NUMBER.findall(text)
    return float(found[-1].replace(",", "")) if found else None


def reward(completion: str, answer: float) -> float:
    """1 for the right number at the end, a tenth for any number."""
    body = completion.rsplit("</think>", 1)[-1]
    value = last_number(body)
    if value is None:
        return 0.0
    return 1.0 if abs(value - float(answer)) < 1e-6 else 0.1


def make():
    return Pipeline(reward=reward, dataset=[{"prompt": "6 * 7", "answer": 42.0}, {"prompt": "1 / 4", "answer": 0.25}])
