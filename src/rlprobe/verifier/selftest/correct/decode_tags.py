"""Reasoning tags that are special tokens: the decoder keeps them, because the reward looks for them, and drops the rest."""

import re

from rlprobe.verifier.pipeline import Pipeline
from rlprobe.verifier.selftest.correct.decode_keep import CharacterTokenizer

TAGS = ["<think>", "</think>", "<answer>", "</answer>"]


class TagTokenizer(CharacterTokenizer):
    """Characters, and one id for each tag."""

    def __init__(self):
        super().__init__()
        self.tags = {300 + index: tag for index, tag in enumerate(TAGS)}
        self.all_special_ids = [0, 1, 2, *self.tags]
        self.all_special_tokens = [*self.special, *TAGS]

    def encode(self, text, add_special_tokens=False):
        ids = []
        for piece in re.split("(" + "|".join(TAGS) + ")", text):
            known = [one for one, tag in self.tags.items() if tag == piece]
            ids += known or super().encode(piece)
        return ids

    def decode(self, ids, skip_special_tokens=False):
        text = ""
        for one in ids:
            if int(one) in self.tags:
                text += "" if skip_special_tokens else self.tags[int(one)]
            else:
                text += super().decode([one], skip_special_tokens)
        return text


TOKENIZER = TagTokenizer()


def decode(token_ids, tokenizer):
    text = tokenizer.decode(token_ids, skip_special_tokens=False)
    text = text.split(tokenizer.eos_token)[0]
    return text.replace(tokenizer.pad_token, "").replace(tokenizer.bos_token, "")


def tag_reward(completions, **kwargs):
    return [1.0 if "<answer>" in text and "</answer>" in text else 0.0 for text in completions]


def make():
    return Pipeline(decode=decode, tokenizer=TOKENIZER, reward=tag_reward)
