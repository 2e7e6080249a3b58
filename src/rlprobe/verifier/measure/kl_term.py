"""The KL term of a loss apart from its policy term: advantages zero, ratio one, the reference moved away by d nats."""

from dataclasses import dataclass

import numpy as np

from rlprobe.recording.run import BoolArray, FloatArray
from rlprobe.verifier.inputs import loss_input, mask
from rlprobe.verifier.measure.kl_estimators import LOG_RATIOS
from rlprobe.verifier.measure.loss import KL_COEFFICIENT, PolicyLoss, policy_loss, unmasked
from rlprobe.verifier.subject import Subject

WIDTH = 3  # columns of rows with one token
NOTHING = 1e-7  # of the policy term's slope; a term below is absent


@dataclass(frozen=True, slots=True, kw_only=True)
class KLTerm:
    """What the loss pays for distance to the reference.

    Attributes:
        present: whether the reference plays any part.
        at_equality: value of the loss where policy and reference are equal (0 but for a constant).
        rise: [D] value over that at equality, the reference d nats below the policy at every token.
        slopes: [D] sum of the slope over all tokens.
        weights: [B,T] share of each token in that sum, at d = 0.5.
        policy_weights: [B,T] weights of the policy term on the same input.
        mask: [B,T].
        values: the input by role, at equality.
        settings: arguments that were set for it (the coefficient where its own is off).
    """

    present: bool
    at_equality: float
    rise: FloatArray
    slopes: FloatArray
    weights: FloatArray
    policy_weights: FloatArray
    mask: BoolArray
    values: dict[str, object]
    settings: dict[str, object]


def kl_term(subject: Subject) -> KLTerm | None:
    """The KL term of the pipeline's loss; None where it takes no reference."""
    found = subject.remember("loss.kl", lambda: _measured(subject, policy_loss(subject)))
    assert found is None or isinstance(found, KLTerm)
    return found


def away(values: dict[str, object], distance: FloatArray | float) -> dict[str, object]:
    """The input with the reference `distance` nats below the policy."""
    return {**values, "ref_logprobs": np.asarray(values["logprobs"]) - distance}


def token_term(loss: PolicyLoss, settings: dict[str, object], log_p: FloatArray, log_q: FloatArray) -> FloatArray:
    """The term [V] for single tokens with these log-probs under policy and reference, up to its weight."""
    pairs = zip(log_p, log_q, strict=True)
    return np.array([loss.value(_column(loss, np.full(2, p), np.full(2, q), settings)) for p, q in pairs])


def token_slope(loss: PolicyLoss, settings: dict[str, object], log_p: FloatArray, log_q: FloatArray) -> FloatArray:
    """Slope [V] of the term for single tokens, up to its weight; all tokens are rows of one batch."""
    return loss.slope(_column(loss, log_p, log_q, settings))[:, 0]


def _measured(subject: Subject, loss: PolicyLoss) -> KLTerm | None:
    if not loss.takes("ref_logprobs"):
        return None
    lengths = (6, 6, 6, 6) if unmasked(subject) else (6, 3, 5, 2)
    base = loss_input(subject.rng("loss.kl"), lengths=lengths, on_policy=True)
    # Lower by 2 nats, so that a reference 1.5 nats above is still the log-prob of a token.
    values = {**base.values(), **dict.fromkeys(("logprobs", "old_logprobs", "ref_logprobs"), base.logprobs - 2.0)}
    flat: dict[str, object] = {
        **values, "advantages": np.zeros_like(base.advantages), "entropy": np.zeros_like(base.logprobs)
    }  # fmt: skip
    settings: dict[str, object] = {}
    if not _matters(loss, flat) and loss.takes("kl_coefficient"):
        settings = {"kl_coefficient": KL_COEFFICIENT}
    flat = {**flat, **settings}
    at_equality = loss.value(flat)
    slopes = [loss.slope(away(flat, distance)) for distance in LOG_RATIOS]
    half = loss.slope(away(flat, 0.5))
    total = float(half.sum())
    return KLTerm(
        present=_matters(loss, flat),
        at_equality=at_equality,
        rise=np.array([loss.value(away(flat, distance)) for distance in LOG_RATIOS]) - at_equality,
        slopes=np.array([float(slope[base.mask].sum()) for slope in slopes]),
        weights=half / total if total else half,
        policy_weights=loss.weights({**values, **settings}),
        mask=base.mask,
        values=flat,
        settings=settings,
    )


def _matters(loss: PolicyLoss, flat: dict[str, object]) -> bool:
    """Whether value or slope move with the reference."""
    near = away(flat, 0.0)
    slack = loss.slopes.floor + 10 * loss.tolerance * abs(loss.value(near))
    for far in (away(flat, 0.7), away(flat, -0.7)):
        if abs(loss.value(near) - loss.value(far)) > slack or not loss.close(loss.slope(near), loss.slope(far)):
            return True
    return False


def _column(loss: PolicyLoss, log_p: FloatArray, log_q: FloatArray, settings: dict[str, object]) -> dict[str, object]:
    rows, width = len(log_p), WIDTH if loss.takes("mask") else 1
    spread = np.repeat(np.asarray(log_p)[:, None], width, axis=1)
    reference = spread.copy()
    reference[:, 0] = log_q
    return {
        "logprobs": spread, "old_logprobs": spread.copy(), "ref_logprobs": reference, "advantages": np.zeros(rows),
        "mask": mask([1] * rows, width), "entropy": np.zeros((rows, width)), **settings,
    }  # fmt: skip
