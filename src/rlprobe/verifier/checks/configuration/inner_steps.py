"""How often a rollout is used, and by how many updates, is known to the code that keeps old log-probs."""

from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

MANY = 8
CHECK = Check(
    id="V710",
    title="generation and accumulation steps divide each other",
    formula="steps per generation and accumulation steps divide each other",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Make steps_per_generation a multiple or a divisor of the accumulation steps.",
    causes=("STALENESS", "CLIP_SATURATION", "RATIO_NOT_ONE"),
)


def run(subject: Subject) -> Outcome:
    """Updates a rollout, and how generation and accumulation fit."""
    given = settings(subject)
    inner = given.number("inner_steps")
    if inner is not None and (inner < 1 or inner % 1):
        return failed(
            "config",
            f"{given.named('inner_steps')} is {inner:g}: {'no update is made' if inner < 1 else 'updates are whole'}.",
            expected="a whole number above 0",
            got=f"{inner:g}",
            example=given.example("inner_steps"),
        )
    steps, accumulation = given.number("steps_per_generation"), given.number("accumulation")
    if steps and accumulation and steps % accumulation and accumulation % steps:
        return warned(
            "config",
            f"{given.named('steps_per_generation')} {steps:g} and {given.named('accumulation')} {accumulation:g}: "
            "an update mixes rollouts of two policies.",
            expected="one a multiple of the other",
            got=f"{steps:g} and {accumulation:g}",
            example=given.example("steps_per_generation", "accumulation"),
        )
    if inner is not None and inner > MANY:
        return warned(
            "config",
            f"{given.named('inner_steps')} is {inner:g}: the last updates are far from the policy that sampled.",
            expected=f"at most {MANY}",
            got=f"{inner:g}",
            example=given.example("inner_steps"),
        )
    if inner is None and not steps:
        return not_checkable("no number of updates a rollout is set", missing=("config.inner_steps",))
    return passed()
