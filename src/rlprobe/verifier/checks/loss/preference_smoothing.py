"""Label smoothing mixes the loss with that of exchanged labels: linear in it, and wholly exchanged at 1."""

from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.loss_preference import PAIR, Preference, curve, pairs, preference
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, not_checkable, passed
from rlprobe.verifier.subject import Subject

SMOOTHING = 0.2
CHECK = Check(
    id="V433",
    title="label smoothing mixes in the exchanged labels",
    formula="loss(s) = (1 - s) · loss(pairs) + s · loss(pairs exchanged)",
    stage="loss",
    category="log-space signs",
    needs=("dpo_loss",),
    fix="(1 - smoothing) * loss(margin) + smoothing * loss(-margin).",
    causes=("PREFERENCE_COLLAPSE",),
)


def run(subject: Subject) -> Outcome:
    """The smoothed loss against the mixture of the plain one and the one with exchanged sides."""
    loss = preference(subject)
    if not loss.function.takes("label_smoothing"):
        return not_applicable("the loss takes no label smoothing")
    values = pairs(subject.rng(CHECK.id))
    exchanged = {**values, PAIR[0]: values[PAIR[1]], PAIR[1]: values[PAIR[0]], PAIR[2]: values[PAIR[3]],
                 PAIR[3]: values[PAIR[2]]}  # fmt: skip
    try:
        plain, turned = _value(loss, values, 0.0), _value(loss, exchanged, 0.0)
    except RaisedError:
        return not_checkable("the loss takes no label smoothing of 0")
    found = _value(loss, values, SMOOTHING)
    expected = (1 - SMOOTHING) * plain + SMOOTHING * turned
    robust = ((1 - SMOOTHING) * plain - SMOOTHING * turned) / (1 - 2 * SMOOTHING)
    slack = 1e-9 + 10 * loss.slopes.tolerance * max(abs(plain), abs(turned))
    if abs(found - expected) <= slack or abs(found - robust) <= slack:
        return passed()
    ignored = abs(found - plain) <= slack
    if ignored and curve(subject).name != "sigmoid":
        return passed("this loss has no label smoothing")
    return failed(
        "dpo_loss",
        f"With label smoothing {SMOOTHING:g} the loss is {found:.6g}, not the mixture of both labels.",
        expected=f"{expected:.6g} = {1 - SMOOTHING:g} * {plain:.4g} + {SMOOTHING:g} * {turned:.4g}",
        got=f"{found:.6g}",
        example=loss.arguments({**values, "label_smoothing": SMOOTHING}),
        fingerprint="label smoothing ignored" if ignored else "",
    )


def _value(loss: Preference, values: dict[str, object], smoothing: float) -> float:
    return loss.value({**values, "label_smoothing": smoothing})
