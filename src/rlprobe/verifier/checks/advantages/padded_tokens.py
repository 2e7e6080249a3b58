"""Padding behind a completion changes none of its token-level advantages."""

from rlprobe.verifier import inputs
from rlprobe.verifier.measure.advantages import on_last_tokens, relative, sample, steady
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

TOLERANCE = 1e-3  # of the largest advantage
TOKENS, FURTHER = 4, 5  # columns, and columns of padding behind them
CHECK = Check(
    id="V219",
    title="padding changes no token-level advantage",
    formula="A(padded) = A(unpadded) where mask = 1",
    stage="advantages",
    category="masks and alignment",
    needs=("advantages",),
    fix="Take mean, deviation and count over the mask: (x * mask).sum() / mask.sum().",
    causes=("ADVANTAGE_INVALID", "LENGTH_BIAS"),
)


def run(subject: Subject) -> Outcome:
    """The same completions of unequal length in a narrow and in a wide batch."""
    advantages = steady(subject)
    if advantages.layout != "tokens":
        return not_applicable("rewards are one number a sample")
    rewards = sample(subject, CHECK.id, advantages)
    lengths = [1 + (3 * index) % TOKENS for index in range(len(rewards))]
    given, found = {}, {}
    for width in (TOKENS, TOKENS + FURTHER):
        given[width] = advantages.arguments(rewards) | on_last_tokens(rewards, lengths, width)
        found[width] = advantages.function(**given[width])
    narrow, wide = found[TOKENS], found[TOKENS + FURTHER]
    if narrow.ndim != 2:
        narrow, wide = narrow.reshape(-1, 1), wide.reshape(-1, 1)
    seen = inputs.mask(lengths, TOKENS)[:, : narrow.shape[1]]
    before, after = narrow[seen], wide[:, : narrow.shape[1]][seen]
    if relative(after, before) > TOLERANCE:
        return failed(
            "advantages",
            f"With {FURTHER} more columns of padding, advantages of valid tokens are off by"
            f" {relative(after, before):.3g} of the largest.",
            expected=shown(before),
            got=shown(after),
            example=given[TOKENS + FURTHER],
            fingerprint="a mean or count over padding",
        )
    return passed()
