"""The loss leaves its arguments as they are: nothing is changed in place."""

from rlprobe.verifier.measure.loss import off_policy, policy_loss
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V415",
    title="the loss changes none of its arguments in place",
    formula="arguments after = arguments before",
    stage="loss",
    category="gradient breakage",
    needs=("loss",),
    fix="Write a = a - b instead of a -= b, and mul instead of mul_.",
    causes=("METRIC_GAP", "NO_LEARNING"),
)


def run(subject: Subject) -> Outcome:
    """Arguments compared before and after a call, two batches."""
    loss = policy_loss(subject)
    for lengths in ((6, 3, 5, 2), (2, 6)):
        arguments = loss.arguments(off_policy(subject, CHECK.id, lengths))
        changed = loss.function.changed(**arguments)
        if changed:
            return failed("loss", f"The call changes {', '.join(changed)} in place.", expected="no change",
                          got=f"another {changed[0]}", example=arguments, fingerprint="in-place operation")  # fmt: skip
    return passed()
