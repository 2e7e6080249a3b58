"""Over the inner steps of one rollout the old log-probs stay, while the policy's move away from them."""

import numpy as np

from rlprobe.verifier.measure.stepping import on_mask, trace
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject, shown

STILL = 1e-7  # nats
CHECK = Check(
    id="V607",
    title="old log-probs stay while the policy moves",
    formula="log p_old at inner step k = log p_old at inner step 0",
    stage="reference",
    category="reference drift",
    needs=("model", "train_step", "loss"),
    fix="Score the old log-probs once a rollout, before the first inner step, and keep them for all of them.",
    causes=("KL_BLOWUP", "CLIP_SATURATION"),
)


def run(subject: Subject) -> Outcome:
    """Old and new log-probs of every call of the loss in one step; a step of one call is judged by the graph alone."""
    losses = trace(subject).losses
    if len(losses) < 2:
        return not_checkable("train_step makes one inner step" if losses else "the loss could not be overheard")
    old = [on_mask(call, "old_logprobs") for call in losses]
    new = [on_mask(call, "logprobs") for call in losses]
    if old[0] is None or new[0] is None:
        return not_checkable("the loss is given no old log-probs")
    if not _same_tokens(new) or not _same_tokens(old):
        return not_checkable("the inner steps have different batches")
    for number in range(1, len(losses)):
        drift = _gap(old[number], old[0])
        followed = _gap(old[number], new[number]) <= STILL
        if drift > STILL:
            return failed(
                "train_step",
                f"In inner step {number + 1} the old log-probs have moved by up to {drift:.3g} nats.",
                expected=shown(old[0]),
                got=shown(np.asarray(old[number])),
                fingerprint="old log-probs are the policy's own" if followed else "",
            )
    if _gap(new[-1], new[0]) <= STILL:
        return failed(
            "train_step",
            f"After {len(losses) - 1} inner steps the policy's log-probs are still the first ones.",
            expected="log-probs that move",
            got=shown(np.asarray(new[-1])),
        )
    return passed(f"{len(losses)} inner steps")


def _same_tokens(values: "list[np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None]") -> bool:
    return len({None if one is None else one.shape for one in values}) == 1


def _gap(first: object, second: object) -> float:
    return float(np.abs(np.asarray(first) - np.asarray(second)).max())
