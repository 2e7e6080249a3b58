"""A decoder that hands the text after the reasoning to the reward: one completion, the tokenizer closed over."""

from rlprobe.verifier.pipeline import Pipeline
from rlprobe.verifier.selftest.correct.decode_keep import CharacterTokenizer

OPEN, CLOSE = "<think>", "</think>"
ROWS = [{"prompt": "What is 40 + 2?", "answer": "42"}, {"prompt": "What is 8 + 9?", "answer": "17"}]
tokenizer = CharacterTokenizer()


def after_reasoning(text):
    if CLOSE in text:
        return text.rsplit(CLOSE, 1)[1].strip()
    if OPEN in text:
        return ""
    return text


def decode(ids):
    ids = list(ids)
    if tokenizer.eos_token_id in ids:
        ids = ids[: ids.index(tokenizer.eos_token_id)]
    return after_reasoning(tokenizer.decode(ids, skip_special_tokens=True))


def completion_mask(completion_ids, eos_token_id, pad_token_id):
    masks = []
    for row in completion_ids:
        mask, ended = [], False
        for token in row:
            mask.append(0 if ended else 1)
            if token == eos_token_id:
                ended = True
        masks.append(mask)
    return masks


def reward(completion, answer):
    return 1.0 if completion == answer else 0.0


def make():
    return Pipeline(
        decode=decode,
        tokenizer=tokenizer,
        completion_mask=completion_mask,
        reward=reward,
        dataset=ROWS,
        declare={"reasoning": "extract"},
    )
