"""With a KL coefficient above 0, the step hangs on the reference: another reference makes another step."""

from rlprobe.verifier.measure.stepping import batch, moved_trace, step
from rlprobe.verifier.measure.weights import policy, reference
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V619",
    title="the step hangs on the reference",
    formula="∂step / ∂ log q ≠ 0 where β > 0",
    stage="reference",
    category="reference drift",
    needs=("model", "ref_model", "train_step"),
    fix="Score the reference model, not the policy, for the KL term, and let the term reach the loss.",
    causes=("KL_BLOWUP", "REFERENCE_MOVING"),
)


def run(subject: Subject) -> Outcome:
    """The same step from the same moved policy, with the reference as it is and moved at random."""
    coefficient = subject.declared.number("kl_coefficient")
    if policy(subject) is reference(subject):
        return not_checkable("the reference is the policy itself: told at V601")
    if coefficient is not None and coefficient <= 0:
        return not_applicable("the declared KL coefficient is 0")
    first = moved_trace(subject)
    second = step(subject, batch(subject), nudge=0.3, nudge_reference=0.3)
    if any(not value.equal(second.after[name]) for name, value in first.after.items()):
        return passed()
    told = "Another reference makes the same step, bit for bit."
    if coefficient is None:
        return warned("train_step", told + " Right only without a KL term.", expected="another step", got="the same")
    return failed(
        "train_step",
        told,
        expected=f"another step (KL coefficient {coefficient:g})",
        got="the same weights",
        fingerprint="the KL is taken to the policy itself",
    )
