"""DAPO's soft penalty of long completions, counted in ids: nothing up to a length, then a slope down to -1."""

from rlprobe.verifier.pipeline import Pipeline

LONGEST, BUFFER = 200, 50  # tokens


def overlong_penalty(completion_ids, **kwargs):
    scores = []
    for ids in completion_ids:
        over = len(ids) - (LONGEST - BUFFER)
        if over <= 0:
            scores.append(0.0)
        elif len(ids) <= LONGEST:
            scores.append(-over / BUFFER)
        else:
            scores.append(-1.0)
    return scores


def make():
    return Pipeline(reward=overlong_penalty, declare={"algorithm": "dapo"})
