"""An outcome reward counts in full wherever the completion ends, so that short and long ones compare by it alone."""

from rlprobe.verifier.measure.advantages import is_grouped, on_last_tokens, relative, sample, steady
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

TOLERANCE = 1e-3  # of the largest advantage
TOKENS = 6
CHECK = Check(
    id="V218",
    title="a token-level reward counts wherever a completion ends",
    formula="Σ_t r_t = outcome reward, whatever the length",
    stage="advantages",
    category="masks and alignment",
    needs=("advantages",),
    fix="Sum the token-level rewards over the mask; do not average them and do not read one position.",
    causes=("LENGTH_BIAS", "ADVANTAGE_INVALID"),
)


def run(subject: Subject) -> Outcome:
    """The same rewards on the last token of completions of unequal length and of equal length."""
    advantages = steady(subject)
    if advantages.layout != "tokens":
        return not_applicable("rewards are one number a sample")
    if not is_grouped(subject, advantages):
        return not_applicable("token-level estimators without groups weigh every token")
    rewards = sample(subject, CHECK.id, advantages)
    lengths = [1 + (3 * index) % TOKENS for index in range(len(rewards))]
    values = advantages.arguments(rewards) | on_last_tokens(rewards, lengths, TOKENS)
    found = advantages.function(**values)[:, 0]
    wanted = advantages(rewards)
    if relative(found, wanted) > TOLERANCE:
        return failed(
            "advantages",
            f"Completions of unequal length have advantages off by {relative(found, wanted):.3g} of the largest.",
            expected=shown(wanted),
            got=shown(found),
            example=values,
        )
    return passed()
