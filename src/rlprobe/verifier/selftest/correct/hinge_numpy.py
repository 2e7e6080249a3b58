"""The hinge loss of preference pairs (SLiC, 2023) in numpy."""

import numpy as np

from rlprobe.verifier.pipeline import Pipeline


def hinge(chosen, rejected, ref_chosen, ref_rejected, beta=0.5):
    margin = (chosen - ref_chosen) - (rejected - ref_rejected)
    return np.mean(np.maximum(0.0, 1.0 - beta * margin))


def hinge_by_pair(chosen, rejected, ref_chosen, ref_rejected, beta=0.5):
    total = 0.0
    for pair in range(len(chosen)):
        gained = chosen[pair] - ref_chosen[pair] - rejected[pair] + ref_rejected[pair]
        total += max(0.0, 1.0 - beta * gained)
    return total / len(chosen)


def make():
    return Pipeline(dpo_loss=hinge, declare={"dpo_loss_type": "hinge"}, alternatives={"dpo_loss": hinge_by_pair})
