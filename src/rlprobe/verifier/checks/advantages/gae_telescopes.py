"""With lambda 1 the values cancel and GAE is return minus value; with lambda 0 it is the one-step error."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.advantages import TOLERANCE, relative
from rlprobe.verifier.measure.advantages_temporal import episode, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V222",
    title="GAE telescopes at lambda 1 and is one step at lambda 0",
    formula="λ = 1: A_t = Σ γ^k r_{t+k} - V_t;  λ = 0: A_t = δ_t",
    stage="advantages",
    category="constants",
    needs=("gae",),
    fix="Multiply the carried advantage by gamma times lambda, and the next value by gamma alone.",
    causes=("VALUE_DIVERGENCE", "ADVANTAGE_INVALID"),
)


def run(subject: Subject) -> Outcome:
    """Both ends of lambda, each by its own formula."""
    gae = measured(subject)
    if not gae.function.takes("lam") or gae.whitens:
        return not_applicable("lambda is fixed inside, or the result is whitened")
    values = episode(subject.rng(CHECK.id))
    gamma = 0.9 if gae.gamma is None else gae.gamma
    rewards, critic = np.asarray(values["rewards"]), np.asarray(values["values"])
    for lam, wanted in ((1.0, _returns(rewards, gamma) - critic), (0.0, _one_step(rewards, critic, gamma))):
        found = gae(values, gamma, lam)
        gap = relative(found, wanted)
        if gap > TOLERANCE:
            return failed(
                "gae",
                f"With lambda {lam:g}, GAE is off by {gap:.3g} of the largest from the"
                f" {'return minus the value' if lam else 'one-step error'}.",
                expected=shown(wanted),
                got=shown(found),
                example=gae.arguments(values, gamma, lam),
            )
    return passed()


def _returns(rewards: FloatArray, gamma: float) -> FloatArray:
    result = rewards.copy()
    for token in range(rewards.shape[1] - 2, -1, -1):
        result[:, token] += gamma * result[:, token + 1]
    return result


def _one_step(rewards: FloatArray, critic: FloatArray, gamma: float) -> FloatArray:
    following = np.concatenate([critic[:, 1:], np.zeros((len(critic), 1))], axis=1)
    return np.asarray(rewards + gamma * following - critic)
