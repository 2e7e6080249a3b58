"""Lists all the way: a mask by the first end of text, a decoder that leaves special ids out; ids are cut before it."""

from rlprobe.verifier.pipeline import Pipeline


class CharacterTokenizer:
    """A character an id, counted from 2."""

    pad_token_id, eos_token_id = 0, 1
    pad_token, eos_token = "<pad>", "</s>"

    def encode(self, text, add_special_tokens=False):
        return [ord(character) + 2 for character in text]

    def decode(self, ids, skip_special_tokens=True):
        return "".join(chr(one - 2) for one in ids if one > 1)


def completion_mask(completion_ids, eos_id):
    masks = []
    for row in completion_ids:
        row = list(row)
        count = row.index(eos_id) + 1 if eos_id in row else len(row)
        masks.append([1] * count + [0] * (len(row) - count))
    return masks


def decode(ids, tok):
    return tok.decode([int(one) for one in ids if one not in (tok.pad_token_id, tok.eos_token_id)])


def make():
    return Pipeline(
        completion_mask=completion_mask, decode=decode, tokenizer=CharacterTokenizer(), declare={"reasoning": "keep"}
    )
