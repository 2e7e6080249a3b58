"""A mask that knows where each completion ends from its end of text, with padding told apart by position, in lists."""

import numpy as np

from rlprobe.verifier.pipeline import Pipeline


class Masker:
    """Lengths first, then the mask."""

    def __init__(self, mask_truncated=False):
        self.mask_truncated = mask_truncated

    def lengths(self, ids, eos):
        width = ids.shape[1]
        return np.array([next((i + 1 for i in range(width) if row[i] == eos), width) for row in ids])

    def __call__(self, ids, eos):
        ids = np.array(ids)
        lengths = self.lengths(ids, eos)
        mask = np.arange(ids.shape[1]) < lengths[:, None]
        if self.mask_truncated:
            mask &= (ids == eos).any(axis=1, keepdims=True)
        return mask.astype(np.float32)


def make():
    return Pipeline(
        completion_mask=Masker(mask_truncated=True), declare={"mask_truncated": True, "eos_id": 2, "pad_id": 2}
    )
