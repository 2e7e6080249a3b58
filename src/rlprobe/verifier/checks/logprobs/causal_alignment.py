"""Each log-prob is of one token under one position's logits: what stands elsewhere in the batch does not move it."""

import numpy as np

from rlprobe.verifier.measure.logprobs import VOCABULARY, drawn, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject

MOVED = 1e-6  # nats
CHECK = Check(
    id="V306",
    title="a log-prob hangs on its own token and logits alone",
    formula="∂ log p_t / ∂ z_s = 0 for s ≠ t",
    stage="logprobs",
    category="masks and alignment",
    needs=("logprobs",),
    fix="Pair logits[:, t] with ids[:, t + 1] once: shift in one place, on the same axis, in the same row.",
    causes=("RATIO_NOT_ONE", "TRAIN_INFER_MISMATCH"),
)
# Offset from a token's position to the output that it moves: by its logits, by its id.
_OFFSETS = {"aligned": (0, 0), "shifted": (0, -1), "zero_first": (1, 0), "zero_last": (0, -1)}


def run(subject: Subject) -> Outcome:
    """Logits and id of one position at a time are changed; the set of outputs that move is compared."""
    function = measured(subject)
    logits, ids = drawn(subject, CHECK.id)
    before = function(logits, ids)
    for row, token in ((0, 2), (1, 1), (1, 3)):
        for kind, offset in zip(("logits", "id"), _OFFSETS[function.layout], strict=True):
            own_logits, own_ids = logits.copy(), ids.copy()
            if kind == "logits":
                own_logits[row, token] = own_logits[row, token][::-1] * 1.5
            else:
                own_ids[row, token] = (own_ids[row, token] + 1) % VOCABULARY
            after = function(own_logits, own_ids)
            moved = {tuple(int(i) for i in place) for place in np.argwhere(np.abs(after - before) > MOVED)}
            wanted: set[tuple[int, ...]] = {(row, token + offset)}
            if moved != wanted:
                return failed(
                    "logprobs",
                    f"Changing the {kind} of row {row}, position {token} moves outputs {sorted(moved) or 'nowhere'}.",
                    expected=f"{sorted(wanted)} ({function.layout})",
                    got=f"{sorted(moved)}",
                    example=function.arguments(own_logits, own_ids),
                    fingerprint=_fingerprint(moved, wanted),
                )
    return passed(str(subject.measured.get("log-probs", "")))


def _fingerprint(moved: set[tuple[int, ...]], wanted: set[tuple[int, ...]]) -> str:
    if len(moved) != 1:
        return "" if moved else "the input is not used"
    (row, token), (wanted_row, wanted_token) = next(iter(moved)), next(iter(wanted))
    return f"shifted by {token - wanted_token}" if row == wanted_row else "another row"
