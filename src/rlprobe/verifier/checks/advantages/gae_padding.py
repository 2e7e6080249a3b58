"""What stands in padding does not reach GAE: a padded row has the advantages that it has without padding."""

import numpy as np

from rlprobe.verifier import inputs
from rlprobe.verifier.measure.advantages import TOLERANCE
from rlprobe.verifier.measure.advantages_temporal import JUNK, TOKENS, episode, expected, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

LENGTHS = [6, 3, 1]
CHECK = Check(
    id="V221",
    title="padding does not reach GAE",
    formula="A(junk in padding) = A(zeros in padding)",
    stage="advantages",
    category="masks and alignment",
    needs=("gae",),
    fix="Set rewards and values outside the mask to 0 before the recursion; whiten over the mask only.",
    causes=("VALUE_DIVERGENCE", "ADVANTAGE_INVALID"),
)


def run(subject: Subject) -> Outcome:
    """Rows of unequal length, padded with zeros and then with junk."""
    gae = measured(subject)
    if not gae.function.takes("mask"):
        return not_applicable("the function takes no mask")
    mask = inputs.mask(LENGTHS, TOKENS)
    gamma, lam = gae.pairs()[min(1, len(gae.pairs()) - 1)]
    for junk in (0.0, JUNK):
        values = episode(subject.rng(CHECK.id))
        values["mask"] = mask
        for name in ("rewards", "values"):
            values[name] = np.where(mask, np.asarray(values[name]), junk)
        gap = gae.off(values, gamma, lam)
        if gap > TOLERANCE:
            found = gae(values, gamma, lam)
            return failed(
                "gae",
                f"With padding that holds {junk:g}, advantages of valid tokens are off by {gap:.3g} of the largest.",
                expected=("whitened " if gae.whitens else "") + shown(expected(values, gamma, lam)[mask], 10),
                got=shown(found[mask], 10),
                example=gae.arguments(values, gamma, lam),
            )
    return passed()
