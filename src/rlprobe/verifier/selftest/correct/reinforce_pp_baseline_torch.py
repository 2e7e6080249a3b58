"""REINFORCE++ with a group baseline: group means are taken off first, the batch is normalised after."""

from rlprobe.verifier.pipeline import Pipeline


class Estimator:
    def __init__(self, group_size, eps=1e-8):
        self.group_size = group_size
        self.eps = eps

    def __call__(self, rewards):
        grouped = rewards.reshape(-1, self.group_size)
        centred = (grouped - grouped.mean(1, keepdim=True)).reshape(-1)
        variance = ((centred - centred.mean()) ** 2).mean()
        return (centred - centred.mean()) * (variance + self.eps).rsqrt()


def make():
    import torch

    assert torch.__version__
    return Pipeline(
        advantages=Estimator(4),
        config={"n_samples_per_prompt": 4},
        declare={"algorithm": "reinforce_pp_baseline"},
    )
