"""A reward for code: the last fenced block is compiled as an expression and compared with the expected results."""

import ast
import re

from rlprobe.verifier.pipeline import Pipeline

ROWS = [
    {
        "prompt": "A list of the first three squares.",
        "tests": [1, 4, 9],
        "completion": "Here it is:\n```python\n[1, 4, 9]\n```\nIt lists squares.",
        "wrong": "```python\n[2, 3, 5]\n```",
    },
    {"prompt": "An empty list.", "tests": [], "completion": "```python\n[]\n```"},
]


class CodeReward:
    """Fraction of expected results that the code gives."""

    def __init__(self, penalty=-1.0):
        self.penalty = penalty
        self.fence = re.compile(r"```(?:python)?\n(.*?)```", re.DOTALL)

    def __call__(self, prompts, completions, tests, **kwargs):
        return [self.one(completion, expected) for completion, expected in zip(completions, tests)]

    def one(self, completion, expected):
        blocks = self.fence.findall(completion)
        if not blocks:
            return self.penalty
        try:
            value = ast.literal_eval(blocks[-1].strip())
        except (ValueError, SyntaxError):
            return self.penalty
        if not isinstance(value, list) or len(value) != len(expected):
            return 0.0
        if not expected:
            return 1.0
        return sum(one == other for one, other in zip(value, expected)) / len(expected)


def make():
    return Pipeline(reward=CodeReward(), dataset=ROWS)
