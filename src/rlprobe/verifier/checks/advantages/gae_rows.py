"""Rows are separate episodes: each has the same advantages alone, in another order, and beside other rows."""

import numpy as np

from rlprobe.verifier.measure.advantages import TOLERANCE, relative
from rlprobe.verifier.measure.advantages_temporal import episode, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V227",
    title="rows of GAE do not reach each other",
    formula="A(rows)[i] = A(rows[i])",
    stage="advantages",
    category="grouping and order",
    needs=("gae",),
    fix="Start every row with a carried advantage of 0, and keep rows on the first axis.",
    causes=("VALUE_DIVERGENCE", "GROUPING_BUG"),
)


def run(subject: Subject) -> Outcome:
    """Rows in reverse order; and, where nothing is whitened over the batch, each row alone."""
    gae = measured(subject)
    gamma, lam = gae.pairs()[min(1, len(gae.pairs()) - 1)]
    values = episode(subject.rng(CHECK.id))
    together = gae(values, gamma, lam)
    if not np.isfinite(together).all():
        return passed("not finite: told elsewhere")
    pieces = {"in reverse order": [slice(None, None, -1)]}
    if not gae.whitens:
        pieces["one at a time"] = [slice(row, row + 1) for row in range(3)]
    for told, parts in pieces.items():
        found = np.concatenate([gae(_rows(values, part), gamma, lam) for part in parts])
        wanted = np.concatenate([together[part] for part in parts])
        if relative(found, wanted) > TOLERANCE:
            return failed(
                "gae",
                f"Computed {told}, rows have advantages off by {relative(found, wanted):.3g} of the largest.",
                expected=shown(wanted),
                got=shown(found),
                example=gae.arguments(_rows(values, parts[0]), gamma, lam),
            )
    return passed()


def _rows(values: dict[str, object], part: slice) -> dict[str, object]:
    return {name: value[part] if isinstance(value, np.ndarray) else value for name, value in values.items()}
