"""GSPO with an adapter: sequence ratios, narrow edges, a rate for adapters; the epsilon of the advantage is named."""

from types import SimpleNamespace

from rlprobe.verifier.pipeline import Pipeline


class Settings(SimpleNamespace):
    """Read as attributes."""


def make():
    return Pipeline(
        config=Settings(
            learning_rate=5e-5,
            lora=True,
            lora_dropout=0.0,
            epsilon=3e-4,
            epsilon_high=4e-4,
            importance_sampling_level="sequence",
            loss_type="grpo",
            num_generations=16,
            generation_batch_size=64,
            adv_eps=1e-4,
            entropy_coef=0.0,
            temperature=0.9,
            num_iterations=2,
            beta=0.0,
        ),
        declare={"algorithm": "gspo"},
    )
