"""Bytes as ids, the end of text also used as padding, several tokens that end a text; the mask says what is decoded."""

import numpy as np

from rlprobe.verifier.pipeline import Pipeline

STOPS = [256, 257]


class ByteTokenizer:
    """Ids 0-255 are bytes; 256 ends a text and pads, 257 ends a turn."""

    eos_token_id = pad_token_id = 256
    eos_token = pad_token = "<|endoftext|>"
    all_special_ids = (256, 257)
    all_special_tokens = ("<|endoftext|>", "<|im_end|>")

    def encode(self, text, add_special_tokens=False):
        return list(text.encode("utf-8"))

    def decode(self, ids, skip_special_tokens=False):
        text = bytearray()
        for one in ids:
            if one < 256:
                text.append(one)
            elif not skip_special_tokens:
                text.extend(self.all_special_tokens[one - 256].encode())
        return text.decode("utf-8", errors="replace")


TOKENIZER = ByteTokenizer()


def completion_mask(completion_ids, eos_ids):
    completion_ids = np.asarray(completion_ids)
    ends = np.isin(completion_ids, eos_ids)
    first = np.where(ends.any(axis=1), ends.argmax(axis=1), completion_ids.shape[1])
    return np.arange(completion_ids.shape[1])[None, :] <= first[:, None]


def decode(completion_ids, mask):
    return [
        TOKENIZER.decode([int(token) for token, kept in zip(row, keep) if kept], skip_special_tokens=True)
        for row, keep in zip(completion_ids, mask)
    ]


def make():
    return Pipeline(
        completion_mask=completion_mask,
        decode=decode,
        tokenizer=TOKENIZER,
        config={"eos_token_id": STOPS, "pad_token_id": 256},
        declare={"reasoning": "keep"},
    )
