"""Settings of DPO and of GSPO side by side: a preference beta, smoothed labels; sequence ratios with their narrow edges."""

from dataclasses import dataclass

from rlprobe.verifier.pipeline import Pipeline


@dataclass
class DPOSettings:
    learning_rate: float = 5e-7
    beta: float = 0.1
    label_smoothing: float = 0.1
    loss_type: str = "sigmoid"
    max_length: int = 1024
    max_grad_norm: float = 1.0
    warmup_ratio: float = 0.1
    bf16: bool = True


def make():
    return Pipeline(config=DPOSettings(), declare={"algorithm": "dpo"})
