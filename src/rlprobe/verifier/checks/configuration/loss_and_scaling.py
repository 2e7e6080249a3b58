"""The loss and the scaling of advantages are of one method."""

from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.outcome import Check, Outcome, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V714",
    title="loss and advantage scaling are of one method",
    formula="(loss aggregation, advantage scaling) of one method",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="With the Dr. GRPO loss set scale_rewards to none; with a sequence ratio use a sequence mean.",
    causes=("LENGTH_BIAS", "CONFIG_MISUSE"),
)


def run(subject: Subject) -> Outcome:
    """The pair as set."""
    given = settings(subject)
    scaling = given.text("advantage_scaling")
    constant = given.loss in ("dr_grpo", "seq-mean-token-sum-norm") or given.algorithm == "dr_grpo"
    if constant and scaling in ("group", "true", "batch"):
        return warned(
            "config",
            f"The loss is {given.loss or given.algorithm} and {given.named('advantage_scaling')} is {scaling}: "
            "its method divides by no deviation, which favours prompts on which rewards hardly differ.",
            expected="none",
            got=scaling,
            example=given.example("loss_type", "advantage_scaling"),
        )
    if not given.loss and not scaling:
        return not_checkable("neither loss nor scaling is set", missing=("config.loss_type",))
    return passed()
