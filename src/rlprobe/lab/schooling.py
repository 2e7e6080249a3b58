"""The base policy: a short supervised training on a task's demonstrations."""

from functools import lru_cache

import numpy as np

from rlprobe.lab import policy
from rlprobe.lab.optimizer import Adam, clipped
from rlprobe.lab.policy import Weights
from rlprobe.lab.tasks import Task, demonstrations

_BATCH = 64
_POOL = 24  # batches drawn once and passed over again
_RATE = 0.01


@lru_cache(maxsize=64)
def _schooled(task: Task, seed: int, hidden: int, lessons: int) -> Weights:
    rng = np.random.default_rng([seed, 7])
    weights, adam = policy.initial(rng, hidden=hidden), Adam()
    prompts, completions, mask = demonstrations(task, _BATCH * _POOL, rng)
    rows = policy.features(prompts, completions)
    for lesson in range(lessons):
        batch = slice((lesson % _POOL) * _BATCH, (lesson % _POOL + 1) * _BATCH)
        shown, written = rows[batch][mask[batch]], completions[batch][mask[batch]]
        scored = policy.score(weights, shown, written, temperature=1.0)
        pull = np.full(len(written), -1.0 / len(written))
        slope = policy.gradient(weights, scored, pull, np.zeros(len(written)))
        weights = adam.step(weights, clipped(slope, 1.0), _RATE * min(1.0, 2.0 * (1.0 - lesson / lessons)))
    for values in weights.values():
        values.flags.writeable = False
    return weights


def base_policy(task: Task, *, seed: int, hidden: int, lessons: int) -> Weights:
    """Weights after `lessons` supervised updates; the same arguments give the same bits."""
    return dict(_schooled(task, seed, hidden, lessons))
