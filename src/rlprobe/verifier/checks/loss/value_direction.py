"""The value loss is zero where values meet their returns, and draws every value to its own return."""

import numpy as np

from rlprobe.verifier.measure.loss_value import ValueLoss, near, value_clip, value_loss
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.shrink import shrink
from rlprobe.verifier.subject import Subject, shown

ZERO = 1e-6
CHECK = Check(
    id="V444",
    title="the value loss draws every value to its own return",
    formula="∂loss / ∂V has the sign of V - R;  V = R  =>  loss = 0",
    stage="loss",
    category="log-space signs",
    needs=("value_loss",),
    fix="Square (value - return) of the same row and token, with a graph to the value.",
    causes=("VALUE_DIVERGENCE", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """Value at the returns; signs of the slope at unmasked tokens; shape, graph and arguments."""
    loss = value_loss(subject)
    values = near(subject.rng(CHECK.id))
    arguments = loss.arguments(values)
    size = loss.function(**arguments).size
    if size != 1:
        return failed(
            "value_loss",
            f"The value loss is {size} numbers, not one.",
            expected="a scalar",
            got=f"{size} numbers",
            example=arguments,
            fingerprint="not reduced",
        )
    changed = loss.function.changed(**arguments)
    if changed:
        return failed(
            "value_loss",
            f"The call changes {', '.join(changed)} in place.",
            expected="no change",
            got=f"another {changed[0]}",
            example=arguments,
            fingerprint="in-place operation",
        )
    met = {**values, "returns": values["values"], "old_values": values["values"]}
    if not abs(loss.value(met)) <= ZERO:
        return failed(
            "value_loss",
            f"Where values meet their returns the loss is {loss.value(met):.4g}.",
            expected="0",
            got=f"{loss.value(met):.4g}",
            example=loss.arguments(met),
        )
    strayed = _strayed(loss, met)
    if not abs(loss.value(strayed)) <= ZERO:
        return failed(
            "value_loss",
            f"Where values meet their returns inside the clip range the loss is {loss.value(strayed):.4g}.",
            expected="0",
            got=f"{loss.value(strayed):.4g}",
            example=loss.arguments(strayed),
            fingerprint="old values in place of returns",
        )
    if _wrong(loss, values):
        small = shrink(values, "value_loss", lambda v: _wrong(loss, v), keep="BT")
        slope = loss.slope(small)
        mark = "no gradient" if not slope.any() else ""
        return failed(
            "value_loss",
            "Some values are not drawn to their return.",
            expected="slopes with the sign of value - return",
            got=shown(slope),
            example=loss.arguments(small),
            fingerprint=mark,
        )
    return passed()


def _strayed(loss: ValueLoss, met: dict[str, object]) -> dict[str, object]:
    """Values that meet their returns, some way from the old ones, inside whatever clip range there is."""
    edge = value_clip(loss, {}).up
    return {**met, "old_values": np.asarray(met["values"]) + min(0.5 * edge if edge else 0.05, 0.05)}


def _wrong(loss: ValueLoss, values: dict[str, object]) -> bool:
    mask = np.asarray(values["mask"], dtype=bool)
    error = np.asarray(values["values"]) - np.asarray(values["returns"])
    return bool((loss.slope(values) * np.sign(error) <= loss.slopes.floor)[mask].any())
