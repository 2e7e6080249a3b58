"""What the completions of a step tell by themselves: emptiness and repetition."""

import numpy as np

from rlprobe.recorder.sample_table import Found, Table, finite, mean

_REPETITION_SAMPLES = 8  # completions of a step whose 4-grams are counted, evenly spaced: half the work of a step
_REPETITION_WORDS = 512  # words of each, the last ones: who begins to repeat himself goes on until the end
_GRAM = 4


def texts(table: Table) -> Found:
    found: Found = {}
    texts = [text for text in table.columns.get("completion", []) if isinstance(text, str)]
    if texts:
        found["empty_fraction"] = sum(not text or text.isspace() for text in texts) / len(texts)
        every = -(-len(texts) // _REPETITION_SAMPLES)
        counted = [_repetition(text.rsplit(None, _REPETITION_WORDS)) for text in texts[::every]]
        found["repetition_fraction"] = mean(finite(np.array(counted)))
    given = finite(table.floats("repetition"))
    if len(given):
        found["repetition_fraction"] = mean(given)
    return found


def _repetition(words: list[str]) -> float:
    """Fraction of the 4-grams that occurred before in the text; NaN for a text of fewer than four words."""
    words = words[-_REPETITION_WORDS:]  # before them stands what was not divided
    grams = len(words) - _GRAM + 1
    if grams < 1:
        return np.nan
    return 1 - len(set(zip(*(words[start:] for start in range(_GRAM)), strict=False))) / grams
