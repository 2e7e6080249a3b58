"""A rule for GSM8K in verl's convention: one completion, the last "#### number", a score and what it was made of."""

import re

from rlprobe.verifier.pipeline import Pipeline


def extract_solution(solution_str):
    found = re.findall(r"####\s*(-?[0-9][0-9.,]*)", solution_str[-300:])
    if not found:
        return None
    return found[-1].replace(",", "").rstrip(".")


def compute_score(data_source, solution_str, ground_truth, extra_info=None, format_score=0.1):
    answer = extract_solution(solution_str)
    if answer is None:
        return {"score": 0.0, "acc": False}
    correct = answer == ground_truth
    return {"score": 1.0 if correct else format_score, "acc": correct}


def make():
    return Pipeline(
        reward=compute_score,
        dataset=[
            {
                "data_source": "gsm8k",
                "question": "How many eggs are left?",
                "ground_truth": "18",
                "completion": "9 * 2 = 18\n#### 18",
            },
            {"data_source": "gsm8k", "question": "How many bolts are needed?", "ground_truth": "3"},
            {"data_source": "gsm8k", "question": "What is the profit?", "ground_truth": "70000"},
        ],
    )
