"""The extraction alone: a function of text, without tokenizer; it says nothing of what it is meant to do."""

import re

from rlprobe.verifier.pipeline import Pipeline

REASONING = re.compile(r"<think>.*?</think>", re.DOTALL)


def strip_reasoning(text):
    text = REASONING.sub("", text)
    if "<think>" in text:
        text = text.split("<think>", 1)[0]
    return text.strip()


def make():
    return Pipeline(decode=strip_reasoning)
