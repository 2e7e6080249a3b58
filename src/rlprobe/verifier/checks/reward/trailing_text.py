"""Text after a rewarded completion does not raise its score."""

from rlprobe.verifier.measure.gold import Gold
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject

TAIL = "And then I add one more thing. "
CHECK = Check(
    id="V115",
    title="text after the answer does not raise the score",
    formula="score(right + text) <= score(right)",
    stage="reward",
    category="log-space signs",
    needs=("reward",),
    fix="Turn the sign of the price for trailing text.",
    causes=("REWARD_HACK_LENGTH", "LENGTH_EXPLOSION"),
)


def run(subject: Subject) -> Outcome:
    """The rewarded completion with a tail of 40 to 4000 characters."""
    return each(subject, _judged)


def _judged(gold: Gold) -> Outcome:
    if gold.kind not in ("answer", "format", "given"):
        return not_applicable("no rewarded text is known")
    texts = [form(gold.answer) for form, high, _ in gold.tried if high > gold.wrong_score] or [gold.gold.completion]
    best = max([gold.gold_score, *(high for _, high, _ in gold.tried)])
    for text in texts:
        for tail in ("\n" + TAIL * 2, "\n" + TAIL * 130):
            sample = gold.gold.saying(text + tail)
            score = gold.score(sample)
            if score > best + 1e-9 * abs(best):
                return failed(
                    gold.reward.slot,
                    f"{gold.reward.name} scores {score:.4g} with {len(tail)} more characters after the answer, "
                    f"{best:.4g} at most without.",
                    expected=f"at most {best:.4g}",
                    got=f"{score:.4g}",
                    example=gold.reward.example([gold.gold.saying(text + tail[:62])]),
                    fingerprint="trailing text is paid for",
                )
    return passed()
