"""Accuracy reward for mathematics in TRL's convention: the last \\boxed{} of the completion against the answer column."""

from rlprobe.verifier.pipeline import Pipeline

ROWS = [
    {"prompt": "What is 40 + 2?", "answer": "42"},
    {"prompt": "What is 7 * 3?", "answer": "21"},
    {"prompt": "What is half of one?", "answer": "\\frac{1}{2}"},
    {"prompt": "What is 3 - 10?", "answer": "-7"},
]


def last_boxed(text):
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    depth = 0
    for index in range(start + len("\\boxed"), len(text)):
        if text[index] == "{":
            depth += 1
        elif text[index] == "}":
            depth -= 1
            if depth == 0:
                return text[start + len("\\boxed{") : index]
    return None


def normalised(answer):
    return answer.strip().replace(" ", "").replace("\\dfrac", "\\frac")


def accuracy_reward(completions, answer, **kwargs):
    scores = []
    for completion, truth in zip(completions, answer):
        found = last_boxed(completion)
        if found is None:
            scores.append(0.0)
        else:
            scores.append(1.0 if normalised(found) == normalised(truth) else 0.0)
    return scores


def make():
    return Pipeline(reward=accuracy_reward, dataset=ROWS)
