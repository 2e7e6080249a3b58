"""The accuracy reward of many tutorials: a list comprehension over a lazy regular expression, no data set handed over."""

import re

from rlprobe.verifier.pipeline import Pipeline


def reward_func(completions, ground_truth, **kwargs):
    matches = [re.search(r"\\boxed\{(.*?)\}", completion) for completion in completions]
    contents = [match.group(1) if match else "" for match in matches]
    return [1.0 if content == truth else 0.0 for content, truth in zip(contents, ground_truth)]


def make():
    return Pipeline(reward=reward_func)
