"""Before the first update the importance ratio is 1: old and new log-probs are scored in the same way."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.stepping import Trace, moved_trace, on_mask, trace
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject, shown

NEAR = 5e-4  # nats; two float32 forwards of one batch agree to 1e-6, bfloat16 does not
CHECK = Check(
    id="V606",
    title="the ratio is 1 in the first inner step",
    formula="ρ = exp(log p_new - log p_old) = 1 before the first update",
    stage="reference",
    category="reference drift",
    needs=("model", "train_step"),
    fix="Score old and new log-probs with the same weights, mask, positions, temperature, precision and mode.",
    causes=("RATIO_NOT_ONE", "CLIP_SATURATION"),
)


def run(subject: Subject) -> Outcome:
    """Old and new log-probs of the first call of the loss in a real step, at the start and from a moved policy."""
    statement = ""
    for seen in (trace(subject), moved_trace(subject)):
        new, old = _pair(seen)
        if new is None or old is None or new.shape != old.shape:
            return not_checkable("no old and new log-probs of the same tokens could be overheard inside train_step")
        gap = float(np.abs(new - old).max())
        if not gap <= NEAR:
            ratio = float(np.exp(np.clip(new - old, -50, 50)).max())
            return failed(
                "train_step",
                f"In the first inner step old and new differ by up to {gap:.3g} nats: the ratio is {ratio:.4g}.",
                expected=shown(old),
                got=shown(new),
                fingerprint=_fingerprint(subject, seen),
            )
        statement = f"{gap:.2g} nats apart"
    return passed(statement)


def _pair(seen: Trace) -> tuple[FloatArray | None, FloatArray | None]:
    """New and old log-probs as the loss is given them; else the first scores of the policy with and without a graph."""
    if seen.losses and seen.losses[0].get("old_logprobs") is not None:
        return on_mask(seen.losses[0], "logprobs"), on_mask(seen.losses[0], "old_logprobs")
    graph = [bool(getattr(call["result"], "requires_grad", False)) for call in seen.scored]
    if True not in graph or False not in graph or graph.index(False) > graph.index(True):
        return None, None
    return on_mask(seen.scored[graph.index(True)], "result"), on_mask(seen.scored[graph.index(False)], "result")


def _fingerprint(subject: Subject, seen: Trace) -> str:
    if _random(subject):
        return "dropout is on"
    if not seen.losses:
        return ""
    old, reference = on_mask(seen.losses[0], "old_logprobs"), on_mask(seen.losses[0], "ref_logprobs")
    same = old is not None and reference is not None and old.shape == reference.shape and np.allclose(old, reference)
    return "they are the reference's" if same else ""


def _random(subject: Subject) -> bool:
    model = subject.pipeline.model
    modules = model.modules() if hasattr(model, "modules") else ()
    return any(type(one).__name__.startswith("Dropout") and getattr(one, "p", 0) > 0 for one in modules)
