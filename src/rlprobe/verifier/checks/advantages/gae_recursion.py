"""GAE is the discounted sum of one-step errors: each is reward plus discounted next value minus own value."""

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.advantages import TOLERANCE, relative
from rlprobe.verifier.measure.advantages_temporal import Gae, episode, expected, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.shrink import shrink
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V220",
    title="GAE equals the sum of discounted one-step errors",
    formula="A_t = δ_t + γλ A_{t+1},  δ_t = r_t + γ V_{t+1} - V_t",
    stage="advantages",
    category="constants",
    needs=("gae",),
    fix="delta = r[t] + gamma * v[t+1] - v[t]; A[t] = delta + gamma * lam * A[t+1]; the value after the end is 0.",
    causes=("VALUE_DIVERGENCE", "ADVANTAGE_INVALID"),
)


def run(subject: Subject) -> Outcome:
    """Full rows at several discounts and lambdas against the defining sum."""
    gae = measured(subject)
    values = episode(subject.rng(CHECK.id))
    for gamma, lam in gae.pairs():
        gap = gae.off(values, gamma, lam)
        if gap > TOLERANCE:
            small = gae.arguments(values, gamma, lam)
            if not gae.whitens:
                small = shrink(small, "gae", lambda v, g=gamma, k=lam: gae.off(v, g, k) > TOLERANCE)  # type: ignore[misc]  # mypy cannot type defaults
            return failed(
                "gae",
                f"With gamma {gamma:g} and lambda {lam:g}, advantages are off by {gap:.3g} of the largest.",
                expected=shown(expected(small, gamma, lam)),
                got=shown(gae.function(**small)),
                example=small,
                fingerprint=_fingerprint(gae, values, gamma, lam),
            )
    return passed("whitened before it is given back" if gae.whitens else "")


def _fingerprint(gae: Gae, values: dict[str, object], gamma: float, lam: float) -> str:
    found = gae(values, gamma, lam)
    mistakes: dict[str, FloatArray] = {
        "lambda is ignored": expected(values, gamma, 1.0),
        "gamma is ignored": expected(values, 1.0, lam),
        "the sign is flipped": -expected(values, gamma, lam),
        "lambda and gamma are swapped": expected(values, lam, gamma),
        "lambda is applied twice": expected(values, gamma, lam * lam),
        "time runs the wrong way in the result": expected(values, gamma, lam)[:, ::-1],
    }
    return next((told for told, numbers in mistakes.items() if relative(found, numbers) < TOLERANCE), "")
