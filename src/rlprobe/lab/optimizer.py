"""Adam with global gradient clipping, and learning-rate schedules."""

import math
from dataclasses import dataclass, field

import numpy as np

from rlprobe.lab.policy import FloatArray, Weights

_BETA1, _BETA2, _EPSILON = 0.9, 0.99, 1e-8


@dataclass(slots=True)
class Adam:
    """Adam with bias correction (Kingma and Ba 2015); its moments are its state."""

    first: dict[str, FloatArray] = field(default_factory=dict)
    second: dict[str, FloatArray] = field(default_factory=dict)
    count: int = 0

    def step(self, weights: Weights, gradient: Weights, learning_rate: float) -> Weights:
        """The weights after one update; the given ones stay as they are."""
        self.count += 1
        scale = learning_rate * math.sqrt(1 - _BETA2**self.count) / (1 - _BETA1**self.count)
        updated = {}
        for name, slope in gradient.items():
            first = self.first[name] = _BETA1 * self.first.get(name, 0.0) + (1 - _BETA1) * slope
            second = self.second[name] = _BETA2 * self.second.get(name, 0.0) + (1 - _BETA2) * slope * slope
            updated[name] = weights[name] - scale * first / (np.sqrt(second) + _EPSILON)
        return updated


def norm(weights: Weights) -> float:
    """Global Euclidean norm; NaN or infinite where a weight is."""
    return math.sqrt(sum(float(np.vdot(values, values)) for values in weights.values()))


def clipped(gradient: Weights, limit: float) -> Weights:
    """The gradient scaled down to a global norm of at most `limit`; 0 leaves it as it is."""
    size = norm(gradient)
    if limit <= 0 or size <= limit:
        return gradient
    return {name: slope * (limit / size) for name, slope in gradient.items()}


def warm_up(step: int, steps: int) -> float:
    """Factor that rises over the first ten steps and stays."""
    del steps
    return min(1.0, step / 10)


def linear_decay(step: int, steps: int) -> float:
    """Factor that rises over the first ten steps, then falls to a tenth."""
    return warm_up(step, steps) * (1.0 - 0.9 * step / max(steps, 1))
