"""A preference loss is one number that is the mean over pairs, or one number a pair."""

import numpy as np

from rlprobe.verifier.measure.loss_preference import curve, pairs, preference
from rlprobe.verifier.outcome import Check, Outcome, failed, passed, warned
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V430",
    title="the preference loss is finite, repeatable and a mean over pairs",
    formula="loss = mean over pairs, or one number a pair",
    stage="loss",
    category="scaling and aggregation",
    needs=("dpo_loss",),
    fix="Average over pairs, or return one loss a pair.",
    causes=("GRAD_PATHOLOGY", "NUMERIC_NAN"),
)


def run(subject: Subject) -> Outcome:
    """Size and finiteness at small and large margins; arguments left alone; a graph where torch is spoken."""
    loss = preference(subject)
    for spread in (1.0, 60.0):
        values = pairs(subject.rng(CHECK.id), spread=spread)
        arguments = loss.arguments(values)
        result = loss.function(**arguments)
        if not np.isfinite(result).all():
            return failed(
                "dpo_loss",
                f"Log-ratios of up to {spread:g} nats give a loss that is not finite.",
                got=shown(result),
                expected="finite numbers",
                example=arguments,
                fingerprint="log of a sigmoid",
            )
        if result.size not in (1, 5, 10):
            return failed(
                "dpo_loss",
                f"Five pairs give {result.size} numbers.",
                expected="1 or one a pair",
                got=f"shape {list(result.shape)}",
                example=arguments,
            )
        changed = loss.function.changed(**arguments)
        if changed:
            return failed(
                "dpo_loss",
                f"The call changes {', '.join(changed)} in place.",
                expected="no change",
                got=f"another {changed[0]}",
                example=arguments,
                fingerprint="in-place operation",
            )
    if loss.slopes.tensor and not loss.slopes.autograd:
        return failed(
            "dpo_loss",
            "The loss has no graph that leads to the chosen log-probs.",
            expected="a graph",
            got="a constant",
            example=arguments,
            fingerprint="detached",
        )
    if curve(subject).summed:
        named = subject.declared.text("dpo_loss_type") or subject.declared.text("algorithm")
        verdict = failed if named else warned
        return verdict(
            "dpo_loss",
            "The loss is a sum over pairs: its gradient grows with the batch.",
            expected="a mean",
            got="a sum",
            example=arguments,
            fingerprint="summed over pairs",
        )
    return passed("a number a pair" if loss.by_row else "a mean over pairs")
