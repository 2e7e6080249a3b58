"""The lab's vocabulary: one token a character, and an end token that has no text.

Token 0 is "!", as in many real vocabularies, so that a policy whose numbers have broken writes "!!!!" as real ones do.
"""

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

BANG = 0
DIGITS = "0123456789"
THOUGHTS = "abcdefgh"  # what a completion may write before its answer
TOOL = "?"  # asks the tool
FAILED = "x"  # what a broken tool answers
FOREIGN = "жшщыэ"  # letters of a script that no prompt uses
OPERATIONS = "+~^="  # the operation of a prompt: sum, reverse, sort, copy
CHARACTERS = "!" + DIGITS + "<> " + THOUGHTS + TOOL + FAILED + FOREIGN + OPERATIONS
EOS = len(CHARACTERS)
SIZE = EOS + 1
TOKEN = {character: index for index, character in enumerate(CHARACTERS)}
_TEXT = [*CHARACTERS, ""]


def encode(text: str) -> list[int]:
    """Tokens of a text, without an end token."""
    return [TOKEN[character] for character in text]


def decode(tokens: IntArray) -> str:
    """Text of a row of tokens; the end token has none."""
    return "".join([_TEXT[token] for token in tokens.tolist()])
