"""The last number of a completion, commas, signs and decimals included."""

import re

from rlprobe.verifier.pipeline import Pipeline

FIGURE = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")


def figure(completion, answer):
    found = FIGURE.findall(completion)
    if not found:
        return 0.0
    value = float(found[-1].replace(",", ""))
    return 1.0 if abs(value - float(answer)) < 1e-6 else 0.0


def make():
    rows = [{"prompt": "3 - 6?", "answer": "-3"}, {"prompt": "A quarter?", "answer": "0.25"}]
    return Pipeline(reward=figure, dataset=rows)
