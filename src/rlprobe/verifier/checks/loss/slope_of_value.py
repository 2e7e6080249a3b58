"""Autograd gives the slope of the number that comes back, or that of a known surrogate with a stop-gradient."""

from rlprobe.verifier.measure.loss import off_policy, policy_loss
from rlprobe.verifier.measure.loss_ratio import ratio_law
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject, shown

SURROGATES = ("cispo", "gspo", "gspo_token", "reinforce")
CHECK = Check(
    id="V413",
    title="the gradient is the slope of the loss or of a known surrogate",
    formula="autograd(loss) = (loss(x + h) - loss(x - h)) / 2h",
    stage="loss",
    category="gradient breakage",
    needs=("loss",),
    fix="Detach weights alone (the ratio of CISPO, the sequence ratio of GSPO-token); everything else keeps its graph.",
    causes=("NO_LEARNING", "ZERO_GRADIENT"),
)


def run(subject: Subject) -> Outcome:
    """Autograd against central differences on drifted input."""
    loss = policy_loss(subject)
    if not loss.slopes.autograd:
        return not_checkable("there is no autograd to compare: slopes are central differences already")
    values = off_policy(subject, CHECK.id)
    arguments = loss.arguments(values)
    found = loss.slope(values)
    expected = loss.function.differences("logprobs", arguments, step=1e-2 if loss.slopes.single else None)
    slack = 100 if loss.slopes.single else 30
    if loss.close(found, expected, slack=slack):
        return passed()
    law = ratio_law(subject)
    if law is not None and law.correct:
        return passed(f"a stop-gradient: the weights follow the ratio law {law.name!r}")
    return failed(
        "loss",
        "Autograd gives another slope than the loss has, and no known surrogate's.",
        expected=shown(expected),
        got=shown(found),
        example=arguments,
        fingerprint="a detach on part of the path",
    )
