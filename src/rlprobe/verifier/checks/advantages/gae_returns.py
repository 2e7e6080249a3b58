"""The returns that the critic is fitted to are the advantages before any whitening plus the values."""

import numpy as np

from rlprobe.verifier import inputs
from rlprobe.verifier.arrays import to_numpy
from rlprobe.verifier.measure.advantages import TOLERANCE, relative
from rlprobe.verifier.measure.advantages_temporal import TOKENS, episode, expected, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V226",
    title="returns are unwhitened advantages plus values",
    formula="returns = A + V, before whitening",
    stage="advantages",
    category="scaling and aggregation",
    needs=("gae",),
    fix="Compute returns = advantages + values before the advantages are whitened.",
    causes=("VALUE_DIVERGENCE",),
)


def run(subject: Subject) -> Outcome:
    """The second part of the result, on full rows and on padded ones."""
    gae = measured(subject)
    gamma, lam = gae.pairs()[min(1, len(gae.pairs()) - 1)]
    for lengths in ([6, 6, 6], [6, 3, 2]):
        values = episode(subject.rng(CHECK.id))
        mask = inputs.mask(lengths, TOKENS) if gae.function.takes("mask") else np.ones((3, TOKENS), dtype=bool)
        values["mask"] = mask
        given = gae.function.whole(**gae.arguments(values, gamma, lam))
        if isinstance(given, dict):
            given = (given.get("advantages"), given.get("returns"))
        if not isinstance(given, tuple) or len(given) < 2 or given[1] is None:
            return not_applicable("the function gives no returns")
        found = to_numpy(given[1])
        if found.shape != mask.shape:
            return not_applicable("the second part of the result is no number a token")
        advantages = expected(values, gamma, lam)
        wanted = advantages + np.asarray(values["values"])
        gap = relative(found[mask], wanted[mask])
        if gap > TOLERANCE:
            same = relative(found[mask], advantages[mask]) < TOLERANCE
            return failed(
                "gae",
                f"The returns are off by {gap:.3g} of the largest.",
                expected=shown(wanted[mask]),
                got=shown(found[mask]),
                example=gae.arguments(values, gamma, lam),
                fingerprint="the values are not added" if same else "",
            )
    return passed()
