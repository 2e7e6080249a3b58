"""Simulated healthy runs: every metric drifts as it does in runs that learn, with autocorrelated, heavy-tailed noise.

Shapes and ranges follow what public healthy runs look like (docs/calibration.md); nothing here was tuned on a detector.
"""

import numpy as np

from rlprobe.recording.run import FloatArray, IntArray, Manifest, MemoryFeed, Run, batch_from_columns


def healthy_run(seed: int, *, steps: int, phi: float) -> Run:
    """One healthy run of that many steps whose noise has lag-one autocorrelation phi."""
    draw = np.random.default_rng([seed, int(1000 * phi)])
    index: IntArray = np.arange(1, steps + 1, dtype=np.int64)
    columns = _Healthy(draw, steps, phi).columns()
    group = int(draw.choice([4, 8, 16]))
    settings = {"group_size": group, "kl_coefficient": 0.01, "temperature": 1.0, "learning_rate": 1e-6}
    manifest = Manifest(format="simulated", algorithm="grpo", settings=settings, state="closed")
    return Run(MemoryFeed(f"healthy {seed}", [batch_from_columns(index, columns, manifest=manifest)]))


class _Healthy:
    """The columns of one run; `progress` is the fraction of what it will learn that it has learned."""

    def __init__(self, draw: np.random.Generator, steps: int, phi: float) -> None:
        self.draw, self.steps, self.phi = draw, steps, phi
        self.time = np.arange(1, steps + 1) / steps
        pace = draw.uniform(0.1, 0.6)
        late = draw.uniform(0.0, 0.3) if draw.random() < 0.3 else 0.0  # some runs take off late
        self.progress = 1.0 - np.exp(-np.maximum(0.0, self.time - late) / pace)

    def noise(self, *, heavy: bool = False) -> FloatArray:
        """(steps,) AR(1) noise of unit variance, with t3 shocks when heavy."""
        shocks = self.draw.standard_t(3, self.steps) / np.sqrt(3) if heavy else self.draw.normal(size=self.steps)
        out = np.empty(self.steps)
        value = float(self.draw.normal())
        for i, shock in enumerate(shocks * np.sqrt(1 - self.phi**2)):
            value = self.phi * value + shock
            out[i] = value
        return out

    def positive(self, level: FloatArray, size: float, *, heavy: bool = False) -> FloatArray:
        """A positive metric around a level, with noise of `size` on the log scale."""
        return level * np.exp(size * self.noise(heavy=heavy))

    def fraction(self, level: FloatArray, size: float) -> FloatArray:
        """A fraction around a level, with noise of `size` on the logit scale."""
        logit = np.log((level + 0.01) / (1.01 - level)) + size * self.noise()
        return 1.0 / (1.0 + np.exp(-logit))

    def columns(self) -> dict[str, FloatArray]:
        """Every column of the run."""
        return self.rewards() | self.policy() | self.generation() | self.optimization()

    def rewards(self) -> dict[str, FloatArray]:
        u = self.draw.uniform
        start, gain = u(0.1, 0.5), u(0.2, 0.5)
        rate = np.clip(start + gain * self.progress, 0.02, 0.97)
        spread = np.sqrt(rate * (1 - rate))
        noise = u(0.02, 0.12)
        right = rate + noise * self.noise()
        form = np.clip(0.3 + 0.65 * (1 - np.exp(-self.time / u(0.03, 0.15))) + 0.03 * self.noise(), 0, 1)
        silent = self.fraction(u(0.05, 0.3) + u(0.1, 0.4) * self.progress, 0.3)
        return {
            "reward_mean": right + 0.2 * form,
            "reward_std_batch": self.positive(spread, 0.1),
            "reward_std_group_mean": self.positive(0.7 * spread, 0.15),
            "reward_component_mean/correct": right,
            "reward_component_mean/format": 0.2 * form,
            "reward_component_std/correct": self.positive(spread, 0.1),
            "zero_variance_group_fraction": silent,
            "advantage_std": self.positive(np.sqrt(1 - silent), 0.03),
            "advantage_mean": 0.01 * self.noise(),
            "advantage_max": np.minimum(1.7, self.positive(np.full(self.steps, 1.5), 0.08)),
            "advantage_min": -np.minimum(1.7, self.positive(np.full(self.steps, 1.5), 0.08)),
        }

    def policy(self) -> dict[str, FloatArray]:
        u = self.draw.uniform
        kept = u(0.15, 0.7)
        entropy = u(0.25, 2.5) * (kept + (1 - kept) * np.exp(-self.time / u(0.2, 0.6)))
        kl = u(0.005, 0.3) * self.time ** u(0.4, 1.2)
        return {
            "entropy_mean": self.positive(entropy, u(0.03, 0.15)),
            "kl_mean": self.positive(kl, u(0.1, 0.35), heavy=True),
            "kl_old_mean": 1e-4 * self.noise(),
            "clip_fraction": self.fraction(np.full(self.steps, u(0.001, 0.05)), 0.2),
            "ratio_mean": 1 + 0.002 * self.noise(),
            "ratio_max": 1 + self.positive(np.full(self.steps, u(0.1, 1.5)), 0.3, heavy=True),
            "logprob_positive_mean": -self.positive(0.8 * entropy, 0.08),
            "sampler_logprob_difference_mean": self.positive(np.full(self.steps, u(0.003, 0.02)), 0.1),
            "sampler_ratio_mean": 1 + 0.003 * self.noise(),
        }

    def generation(self) -> dict[str, FloatArray]:
        u = self.draw.uniform
        length = u(100, 2000) * (1 + (u(0.6, 3.0) - 1) * self.progress)
        tokens = self.positive(length, u(0.05, 0.15))
        return {
            "completion_tokens_mean": tokens,
            "completion_tokens_max": self.positive(2.2 * length, 0.1),
            "completion_tokens_min": self.positive(0.3 * length, 0.2),
            "truncated_fraction": self.fraction(0.02 + u(0.0, 0.6) * np.exp(-self.time / 0.05), 0.4),
            "repetition_fraction": self.fraction(np.full(self.steps, u(0.01, 0.15)), 0.2),
            "empty_fraction": np.zeros(self.steps),
            "duplicate_fraction": self.fraction(0.02 + 0.2 * self.progress, 0.3),
            "step_seconds": self.positive(3.0 + 0.01 * tokens, 0.1, heavy=True),
            "memory_bytes": self.positive(3e10 + 1e6 * tokens, 0.01),
            "tool_calls_mean": self.positive(np.full(self.steps, u(0.5, 3.0)), 0.1),
        }

    def optimization(self) -> dict[str, FloatArray]:
        u = self.draw.uniform
        gradient = self.positive(u(0.05, 2.0) * (1 - 0.5 * self.progress), u(0.15, 0.4), heavy=True)
        spikes = self.draw.random(self.steps) < 0.004
        value_error = u(0.3, 2.0) * (0.15 + np.exp(-self.time / 0.05))
        return {
            "grad_norm": np.where(spikes, gradient * self.draw.uniform(5, 20, self.steps), gradient),
            "loss": 0.01 * self.noise(),
            "policy_loss": 0.01 * self.noise(),
            "learning_rate": 1e-6 * np.minimum(1.0, np.arange(1, self.steps + 1) / 10) * (1 - 0.9 * self.time),
            "weight_update_ratio": self.positive(np.full(self.steps, u(1e-5, 1e-3)), 0.2),
            "value_loss": self.positive(value_error, 0.2),
            "value_mean": u(0.2, 0.6) * self.progress + 0.02 * self.noise(),
            "value_explained_variance": np.clip(0.6 - 1.5 * np.exp(-self.time / 0.04) + 0.1 * self.noise(), None, 1.0),
        }
