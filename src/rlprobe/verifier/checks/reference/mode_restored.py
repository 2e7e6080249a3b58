"""Scoring leaves the model in the mode that it was in, and a training step leaves it in training mode."""

from rlprobe.verifier.measure.scoring import quiet, scorer
from rlprobe.verifier.measure.stepping import trace
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, Unavailable

CHECK = Check(
    id="V608",
    title="scoring leaves the model's mode as it was",
    formula="model.training after = model.training before",
    stage="reference",
    category="reference drift",
    needs=("model", "score"),
    fix="Remember model.training before eval() and give it back with model.train(was_training), also after an error.",
    causes=("RATIO_NOT_ONE", "TRAIN_INFER_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """Both modes before scoring; training mode before a step."""
    score = scorer(subject)
    ids = score.ids(subject.rng(CHECK.id))
    for training in (True, False):
        with quiet(score.model):
            score.model.train(training)
            score(ids)
            after = score.model.training
        if after is not training:
            return failed(
                "score",
                f"Scoring leaves the model in {_named(after)} mode; it was in {_named(training)} mode.",
                expected=_named(training),
                got=_named(after),
            )
    try:
        stepped = subject.has("train_step") and not trace(subject).training
    except Unavailable:
        stepped = False
    if stepped:
        return failed(
            "train_step",
            "A step that begins in training mode leaves the model in evaluation mode.",
            expected="training",
            got="evaluation",
        )
    return passed()


def _named(training: bool) -> str:  # noqa: FBT001 - the two modes have no other form
    return "training" if training else "evaluation"
