"""Second implementations of the KL, the preference loss and the value loss give the numbers of the first."""

import numpy as np

from rlprobe.verifier.inputs import loss_input
from rlprobe.verifier.measure.loss_inputs import with_hole
from rlprobe.verifier.measure.loss_preference import pairs
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

SLOTS = ("kl", "dpo_loss", "value_loss")
EXACT = 1e-5  # relative; both may compute in float32
CHECK = Check(
    id="V457",
    title="both implementations of KL, preference or value loss agree",
    formula="first(batch) = second(batch)",
    stage="loss",
    category="scaling and aggregation",
    needs=("kl|dpo_loss|value_loss",),
    fix="Carry over what the second path lacks; keep the first as it is.",
    causes=("GRAD_PATHOLOGY",),
)


def run(subject: Subject) -> Outcome:
    """Results of both on inputs in every branch."""
    slots = [slot for slot in SLOTS if slot in subject.pipeline.alternatives and subject.has(slot)]
    if not slots:
        return not_applicable("there is no second implementation")
    for slot in slots:
        first, second = subject.function(slot), subject.alternative(slot)
        for values in _inputs(subject, slot):
            one = first(**{role: value for role, value in values.items() if first.takes(role)})
            two = second(**{role: value for role, value in values.items() if second.takes(role)})
            if one.shape != two.shape or not np.allclose(one, two, rtol=EXACT, atol=1e-6):
                return failed(slot, f"The two implementations of {slot} differ.", expected=shown(one), got=shown(two),
                              example=values)  # fmt: skip
    return passed()


def _inputs(subject: Subject, slot: str) -> list[dict[str, object]]:
    rng = subject.rng(CHECK.id)
    if slot == "dpo_loss":
        return [pairs(rng), pairs(rng, spread=10.0)]
    base = loss_input(rng, spread=1.0).values()
    if slot == "kl":
        return [{role: base[role] for role in ("logprobs", "ref_logprobs", "mask")}]
    old = rng.normal(size=(4, 6))
    values = {"values": old + rng.normal(size=old.shape), "old_values": old, "returns": rng.normal(size=old.shape)}
    return [with_hole({**values, "mask": base["mask"]})]
