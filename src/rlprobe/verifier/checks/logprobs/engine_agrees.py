"""The sampler and the trainer give the same tokens the same log-probs, up to the sampler's precision."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.engine import engine_scores
from rlprobe.verifier.measure.scoring import quiet, scorer
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject, shown

PRECISION = 0.02  # nats a token; bfloat16 engines are off by about 0.01
SPREAD = 0.05  # of the spread of log-probs, allowed on top
CHECK = Check(
    id="V316",
    title="engine and trainer give the same log-probs",
    formula="log p(engine) = log p(trainer) up to the engine's precision",
    stage="logprobs",
    category="rollout sync and token identity",
    needs=("model", "engine_logprobs"),
    fix="Score the sampled ids themselves, at the sampling temperature, with the weights that sampled.",
    causes=("TRAIN_INFER_MISMATCH", "STALE_ROLLOUT_WEIGHTS", "DECODE_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """Planted token ids through both."""
    score = scorer(subject)
    ids = score.ids(subject.rng(CHECK.id), rows=3)
    with quiet(score.model):
        trainer = score(ids)
    engine = engine_scores(subject, ids)
    if engine is None or engine.shape != trainer.shape:
        return not_checkable("the engine does not give one log-prob a token")
    gap = float(np.abs(engine - trainer).mean())
    subject.measured["engine and trainer"] = f"{gap:.2g} nats a token apart"
    if not gap <= PRECISION + SPREAD * float(trainer.std()):
        return failed(
            "engine_logprobs",
            f"Engine and trainer differ by {gap:.3g} nats a token.",
            expected=shown(trainer),
            got=shown(engine),
            example={"ids": ids},
            fingerprint=_fingerprint(trainer, engine),
        )
    return passed(f"{gap:.2g} nats a token apart")


def _fingerprint(trainer: FloatArray, engine: FloatArray) -> str:
    if np.allclose(engine[:, 1:], trainer[:, :-1], atol=PRECISION) or np.allclose(
        engine[:, :-1], trainer[:, 1:], atol=PRECISION
    ):
        return "shifted by one token"
    if np.allclose(np.sort(engine, axis=0), np.sort(trainer, axis=0), atol=PRECISION):
        return "rows in another order"
    return "negated" if np.allclose(engine, -trainer, atol=PRECISION) else ""
