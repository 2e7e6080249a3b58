"""Token terms become one number by the declared mean: over rows, over tokens, or by a constant."""

from rlprobe.verifier.measure.loss import on_policy, policy_loss, unmasked
from rlprobe.verifier.measure.loss_weights import EXACT, Aggregation, aggregation, length_mistake
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject, shown

CONSTANTS = ("constant", "sequence_sum", "token_sum")
BY_ALGORITHM = {"dr_grpo": CONSTANTS}  # Liu et al. 2025: no division by the row's own length
CHECK = Check(
    id="V409",
    title="tokens are averaged as declared",
    formula="w_t = 1/(B·L_i) (rows), 1/ΣL_i (tokens) or 1/c (constant), as declared",
    stage="loss",
    category="scaling and aggregation",
    needs=("loss",),
    fix="Change the denominator alone: the row's own tokens, all tokens of the batch, or the constant.",
    causes=("LENGTH_BIAS", "LENGTH_EXPLOSION"),
)


def run(subject: Subject) -> Outcome:
    """The family of the on-policy weights of two batches with different lengths."""
    found = aggregation(subject)
    loss = policy_loss(subject)
    arguments = loss.arguments(on_policy(subject, "loss.aggregation"))
    if unmasked(subject):
        return passed("every token counts: rows of the same length are averaged alike by any mean")
    if found.residual == float("inf") or not found.weights.any():
        return not_checkable("ratio 1 gives no gradient: told at V402")
    declared = subject.declared.text("aggregation")
    algorithm = subject.declared.text("algorithm")
    expected = (declared,) if declared else BY_ALGORITHM.get(algorithm, ())
    mistake = length_mistake(found.weights, found.mask) if found.family == "unknown" else ""
    if found.family == "unknown":
        verdict = failed if declared or algorithm or mistake else warned
        return verdict(
            "loss", f"Tokens are weighted by {found.told}.", expected=declared or "a known mean",
            got=shown(found.weights), example=arguments, fingerprint=mistake,
        )  # fmt: skip
    if expected and not _meets(found, expected):
        return failed(
            "loss", f"Tokens are averaged by the {found.told}; declared is {' or '.join(expected)}.",
            expected=" or ".join(expected), got=found.told, example=arguments, fingerprint=found.family,
        )  # fmt: skip
    if algorithm and found.family in ("sequence_mean", "token_mean") and found.scale > 1 + EXACT:
        return failed(
            "loss",
            f"The policy term is {found.scale:.4g} times the {found.family.replace('_', ' ')}.",
            expected="1",
            got=f"{found.scale:.4g}",
            example=arguments,
            fingerprint="counted more than once",
        )
    longest = subject.declared.number("max_completion_tokens")
    if expected and "constant" in expected and longest and found.family == "constant":
        rows = len(found.weights)
        if not any(abs(found.scale * over * longest - 1) <= EXACT for over in (1.0, 1 / rows)):
            return failed(
                "loss", f"The sum over a row is divided by {1 / found.scale:.4g}; declared is {longest:g}.",
                expected=f"{longest:g}", got=f"{1 / found.scale:.4g}", example=arguments,
            )  # fmt: skip
    return passed(found.told)


def _meets(found: Aggregation, expected: tuple[str, ...]) -> bool:
    if found.family in expected or (found.family in CONSTANTS and "constant" in expected):
        return found.family in CONSTANTS or abs(found.scale - 1) <= EXACT
    return False
