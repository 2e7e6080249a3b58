"""The reference stands still, or follows so slowly that distance from it means something."""

from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

OFTEN = 10  # steps
CHECK = Check(
    id="V719",
    title="the reference does not chase the policy",
    formula="q fixed, or q <- mix · p + (1 - mix) · q, seldom",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Leave sync_ref_model off, or mix 0.6 every 512 steps.",
    causes=("REFERENCE_MOVING", "KL_BLOWUP"),
)


def run(subject: Subject) -> Outcome:
    """The switch, the mixture and its interval."""
    given = settings(subject)
    alpha, steps = given.number("sync_alpha"), given.number("sync_steps")
    syncing = given.get("sync_reference")
    if syncing is None:
        return not_checkable("nothing says whether the reference follows", missing=("config.sync_reference",))
    if not syncing:
        return passed("the reference stands still")
    if (alpha is not None and not 0 < alpha <= 1) or (steps is not None and steps < 1):
        return failed(
            "config",
            f"The reference is mixed by {alpha} every {steps} steps.",
            expected="a fraction, every so many steps",
            got=f"{alpha} every {steps}",
            example=given.example("sync_alpha", "sync_steps"),
        )
    if alpha == 1 and steps is not None and steps <= OFTEN:
        return failed(
            "config",
            f"The reference becomes the policy every {steps:g} steps: their distance is nothing.",
            expected="rarer, or a part",
            got=f"1 every {steps:g}",
            example=given.example("sync_alpha", "sync_steps"),
        )
    if given.number("kl_coefficient") == 0:
        return warned(
            "config",
            "The reference follows the policy, and the KL coefficient is 0: it is kept for nothing.",
            expected="no reference",
            got="a reference that is synchronised",
            example=given.example("kl_coefficient"),
        )
    return passed()
