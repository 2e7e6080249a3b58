"""There is one weight for each reward function."""

from collections.abc import Sequence

from rlprobe.verifier.declared import as_mapping
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, not_checkable, passed
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V112",
    title="there is one weight for each reward function",
    formula="len(weights) = len(reward functions)",
    stage="reward",
    category="configuration",
    needs=("reward",),
    fix="List as many reward_weights as reward functions, in their order.",
    causes=("REWARD_COMPONENT_DEAD", "CONFIG_MISUSE"),
)


def run(subject: Subject) -> Outcome:
    """The configuration's reward_weights against the number of functions."""
    functions = subject.rewards()
    weights = as_mapping(subject.pipeline.config).get("reward_weights")
    if weights is None:
        if len(functions) == 1:
            return not_applicable("there is one reward function")
        return not_checkable("no reward_weights are set", missing=("config.reward_weights",))
    count = len(weights) if isinstance(weights, Sequence) else 1
    if count != len(functions):
        return failed(
            "config",
            f"{count} reward_weights are set for {len(functions)} reward functions.",
            expected=f"{len(functions)} weights",
            got=f"{count}",
            example={"reward_weights": list(weights) if isinstance(weights, Sequence) else weights},
        )
    return passed()
