"""Before the first update the reference is the policy: both give every token the same log-prob, and the KL is 0."""

import numpy as np

from rlprobe.verifier.measure.scoring import quiet, scorer
from rlprobe.verifier.measure.weights import policy, reference
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

NARROW = 5e-2  # nats; a reference held in bfloat16 is off by about 0.01
NEAR = 1e-3  # nats; the same precision
CHECK = Check(
    id="V604",
    title="the reference equals the policy at the start",
    formula="log p = log q for every token at step 0",
    stage="reference",
    category="reference drift",
    needs=("model", "ref_model"),
    fix="Build the reference from the policy's own weights, adapters included, after they are loaded.",
    causes=("REFERENCE_MISMATCH",),
)


def run(subject: Subject) -> Outcome:
    """The same ids through both, in evaluation mode."""
    model, other = policy(subject), reference(subject)
    score = scorer(subject)
    ids = score.ids(subject.rng(CHECK.id), rows=3)
    with quiet(model, other):
        own, theirs = score(ids), score(ids, model=other)
    widths = {next(iter(one.parameters())).dtype for one in (model, other) if any(True for _ in one.parameters())}
    gap = float(np.abs(own - theirs).mean())
    if not gap <= (NEAR if len(widths) == 1 else NARROW):
        return failed(
            "ref_model",
            f"Policy and reference differ by {gap:.3g} nats a token before any update.",
            expected=shown(own),
            got=shown(theirs),
            example={"ids": ids},
        )
    return passed(f"{gap:.2g} nats a token apart")
