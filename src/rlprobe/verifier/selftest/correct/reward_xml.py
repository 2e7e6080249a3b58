"""Rewards of the reasoning demo: counted tags with a price for trailing text, an answer between tags, an integer answer."""

from rlprobe.verifier.pipeline import Pipeline


def extract_answer(text):
    if "<answer>" not in text or "</answer>" not in text:
        return ""
    return text.split("<answer>")[-1].split("</answer>")[0].strip()


def count_tags(text):
    score = 0.0
    if text.count("<reasoning>\n") == 1:
        score += 0.125
    if text.count("\n</reasoning>\n") == 1:
        score += 0.125
    if text.count("\n<answer>\n") == 1:
        score += 0.125
        score -= len(text.split("\n</answer>\n")[-1]) * 0.001
    if text.count("\n</answer>") == 1:
        score += 0.125
        score -= max(len(text.split("\n</answer>")[-1]) - 1, 0) * 0.001
    return score


def xmlcount_reward_func(completions, **kwargs):
    return [count_tags(completion) for completion in completions]


def int_reward_func(completions, **kwargs):
    return [0.5 if extract_answer(completion).isdigit() else 0.0 for completion in completions]


def correctness_reward_func(prompts, completions, answer, **kwargs):
    return [2.0 if extract_answer(c) == a else 0.0 for c, a in zip(completions, answer)]


def make():
    return Pipeline(reward=[xmlcount_reward_func, int_reward_func, correctness_reward_func])
