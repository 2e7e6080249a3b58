"""Sequences packed into one row score as they do alone: attention and positions end at each border."""

import numpy as np

from rlprobe.verifier.measure.logprobs import distance
from rlprobe.verifier.measure.scoring import quiet, scorer
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V313",
    title="packed sequences score as they do alone",
    formula="log p(packed) = log p(each sequence alone)",
    stage="logprobs",
    category="masks and alignment",
    needs=("model", "score"),
    fix="Start positions anew at each segment, and let tokens attend within their own segment only.",
    causes=("RATIO_NOT_ONE", "TRAIN_INFER_MISMATCH"),
)
CUTS = ((0, 4), (4, 7)), ((0, 3), (3, 7))


def run(subject: Subject) -> Outcome:
    """Two rows of two sequences each, cut at different places."""
    score = scorer(subject)
    if not score.function.takes("segments"):
        return not_applicable("the function takes no segments")
    ids = score.ids(subject.rng(CHECK.id), rows=len(CUTS))
    segments, positions = np.zeros_like(ids), np.zeros_like(ids)
    for row, parts in enumerate(CUTS):
        for number, (start, stop) in enumerate(parts, 1):
            segments[row, start:stop] = number
            positions[row, start:stop] = np.arange(stop - start)
    with quiet(score.model):
        packed = score(ids, segments=segments, positions=positions)
        for row, parts in enumerate(CUTS):
            for start, stop in parts:
                wanted = score(ids[row : row + 1, start:stop])[0]
                found = packed[row, start : stop - 1]
                if distance(found, wanted) > score.tolerance:
                    return failed(
                        "score",
                        f"A sequence packed after {start} other tokens has scores off by up to"
                        f" {distance(found, wanted):.3g} nats.",
                        expected=shown(wanted),
                        got=shown(found),
                        example={"ids": ids, "segments": segments},
                    )
    return passed()
