"""RLOO on plain lists, one prompt after the other, groups of any size by the prompt's id."""

from collections import defaultdict

from rlprobe.verifier.pipeline import Pipeline


def advantages(rewards: list, prompt_ids: list):
    members = defaultdict(list)
    for index, prompt in enumerate(prompt_ids):
        members[prompt].append(index)
    result = [0.0] * len(rewards)
    for indices in members.values():
        total = sum(rewards[i] for i in indices)
        for i in indices:
            if len(indices) > 1:
                others = (total - rewards[i]) / (len(indices) - 1)
                result[i] = rewards[i] - others
    return result


def make():
    return Pipeline(advantages=advantages, declare={"algorithm": "rloo"})
