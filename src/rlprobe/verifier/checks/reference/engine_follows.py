"""After an update the sampler has the new weights: it scores like the trainer, and no longer as before."""

import numpy as np

from rlprobe.verifier.measure.engine import engine_scores
from rlprobe.verifier.measure.scoring import quiet, scorer
from rlprobe.verifier.measure.stepping import batch, trace
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject, shown

STILL = 1e-6  # nats
CHECK = Check(
    id="V612",
    title="the engine follows an update",
    formula="log p(engine) after the update = log p(trainer) after the update",
    stage="reference",
    category="rollout sync and token identity",
    needs=("model", "train_step", "engine_logprobs"),
    fix="Push every trained tensor (merged adapters included) to the engine after optimizer.step().",
    causes=("STALE_ROLLOUT_WEIGHTS", "TRAIN_INFER_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """Engine and trainer on the same ids, before and after one step; the step is expected to synchronise."""
    score = scorer(subject)
    ids = batch(subject).ids
    with quiet(score.model):
        before = score(ids)
    engine_before = engine_scores(subject, ids)
    seen = trace(subject)
    if engine_before is None or seen.engine is None or seen.scores is None or engine_before.shape != before.shape:
        return not_checkable("the engine does not give one log-prob a token")
    moved = float(np.abs(seen.scores - before).mean())
    apart = float(np.abs(engine_before - before).mean())
    if moved <= max(STILL, 2 * apart):
        return not_checkable("the step moves the scores by less than engine and trainer differ")
    behind = float(np.abs(seen.engine - seen.scores).mean())
    if behind > 0.2 * moved + 2 * apart:
        stale = float(np.abs(seen.engine - engine_before).max()) <= STILL
        return failed(
            "train_step",
            f"After a step that moves the trainer's scores by {moved:.3g} nats a token, the engine is"
            f" {behind:.3g} behind.",
            expected=shown(seen.scores),
            got=shown(seen.engine),
            example={"ids": ids},
            fingerprint="the engine still has the old weights" if stale else "some tensors were not pushed",
        )
    return passed(f"moved {moved:.2g} nats a token, {behind:.2g} apart after it")
