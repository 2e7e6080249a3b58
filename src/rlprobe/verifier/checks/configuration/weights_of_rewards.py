"""Some reward counts."""

from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V724",
    title="some reward has a weight",
    formula="Σ |weights| > 0",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Give the reward that the task is about a weight above 0.",
    causes=("REWARD_CONSTANT", "REWARD_COMPONENT_DEAD"),
)


def run(subject: Subject) -> Outcome:
    """The weights as set."""
    given = settings(subject)
    weights = given.raw.get("reward_weights")
    if not isinstance(weights, list | tuple) or not all(isinstance(one, int | float) for one in weights):
        return not_checkable("no reward weights are set", missing=("config.reward_weights",))
    if weights and not any(weights):
        return failed(
            "config",
            "Every reward weight is 0.",
            expected="a weight above 0",
            got=str(list(weights)),
            example={"reward_weights": list(weights)},
        )
    zero = [index for index, one in enumerate(weights) if one == 0]
    if zero:
        return warned(
            "config",
            f"Reward {zero[0]} has the weight 0: it is computed for nothing.",
            expected="a weight above 0",
            got=str(list(weights)),
            example={"reward_weights": list(weights)},
        )
    return passed()
