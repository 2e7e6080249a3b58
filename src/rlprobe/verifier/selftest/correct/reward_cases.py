"""Code against a list of cases of the row."""

import re

from rlprobe.verifier.pipeline import Pipeline

BLOCK = re.compile(r"```(?:py|python)?\s*\n(.*?)```", re.DOTALL)


def passes(completion, calls, results):
    blocks = BLOCK.findall(completion)
    if not blocks:
        return 0.0
    scope = {}
    try:
        exec(blocks[-1], scope)  # the text is our own or of the self-test
        got = [str(eval(call, scope)) for call in calls]
    except Exception:
        return 0.0
    return float(all(one == wanted for one, wanted in zip(got, results)))


def make():
    program = "Like this:\n```python\ndef half(n):\n    return n / 2\n```\n"
    rows = [
        {"prompt": "Half of a number.", "calls": ["half(8)", "half(3)"], "results": ["4.0", "1.5"],
         "completion": program, "wrong": program.replace("/ 2", "// 2")},
        {"prompt": "Half of it.", "calls": ["half(2)", "half(5)"], "results": ["1.0", "2.5"]},
    ]  # fmt: skip
    return Pipeline(reward=passes, dataset=rows)
