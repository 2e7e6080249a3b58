"""A character tokenizer, a batch decoder that keeps the reasoning, a completion mask up to the end of text, a reward."""

import re

import numpy as np

from rlprobe.verifier.pipeline import Pipeline


class CharacterTokenizer:
    """One id a character; the first ids are special."""

    def __init__(self):
        self.special = ["<pad>", "<bos>", "<eos>"]
        self.letters = [chr(code) for code in range(32, 127)] + ["\n", "\t"] + list("äöüßéèñ東京🙂")
        self.pad_token, self.bos_token, self.eos_token = self.special
        self.pad_token_id, self.bos_token_id, self.eos_token_id = 0, 1, 2
        self.all_special_ids = [0, 1, 2]
        self.vocabulary = {letter: 3 + index for index, letter in enumerate(self.letters)}

    def encode(self, text, add_special_tokens=False):
        ids = [self.vocabulary[letter] for letter in text if letter in self.vocabulary]
        return [self.bos_token_id, *ids] if add_special_tokens else ids

    def decode(self, ids, skip_special_tokens=False):
        pieces = []
        for one in ids:
            one = int(one)
            if one >= 3:
                pieces.append(self.letters[one - 3])
            elif not skip_special_tokens:
                pieces.append(self.special[one])
        return "".join(pieces)

    def batch_decode(self, rows, skip_special_tokens=False):
        return [self.decode(row, skip_special_tokens=skip_special_tokens) for row in rows]


TOKENIZER = CharacterTokenizer()


def completion_mask(completion_ids, eos_id):
    is_end = np.asarray(completion_ids) == eos_id
    ended_before = np.cumsum(is_end, axis=1) - is_end
    return (ended_before == 0).astype(np.int64)


def decode(completion_ids, tokenizer):
    texts = []
    for row in completion_ids:
        row = [int(one) for one in row]
        if tokenizer.eos_token_id in row:
            row = row[: row.index(tokenizer.eos_token_id)]
        texts.append(tokenizer.decode(row, skip_special_tokens=True))
    return texts


def format_reward(completions, **kwargs):
    pattern = re.compile(r"^<think>.*?</think>\s*<answer>.*?</answer>\s*$", re.DOTALL)
    return [1.0 if pattern.match(completion) else 0.0 for completion in completions]


def make():
    return Pipeline(
        completion_mask=completion_mask,
        decode=decode,
        tokenizer=TOKENIZER,
        reward=format_reward,
        declare={"reasoning": "keep", "mask_truncated": False},
    )
