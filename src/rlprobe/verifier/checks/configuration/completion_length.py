"""Right completions fit under the length cap."""

from rlprobe.verifier.measure.columns import completion_of
from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.measure.tokenizer import described
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

ROWS = 64
CHECK = Check(
    id="V708",
    title="right completions fit under the length cap",
    formula="length(right completion) < cap",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Raise the cap above the lengths of right completions, or mask truncated ones.",
    causes=("TRUNCATION_STARVE", "LENGTH_COLLAPSE"),
)


def run(subject: Subject) -> Outcome:
    """The cap against the gold completions of the data set."""
    given = settings(subject)
    cap = given.number("max_completion_tokens")
    if cap is None:
        return not_checkable("no length cap is set", missing=("config.max_completion_tokens",))
    name = given.named("max_completion_tokens")
    if cap < 1 or cap % 1:
        return failed(
            "config",
            f"{name} is {cap:g}: {'nothing can be generated' if cap < 1 else 'no completion has that many tokens'}.",
            expected="a whole number above 0",
            got=f"{cap:g}",
            example=given.example("max_completion_tokens"),
        )
    if subject.pipeline.tokenizer is None:
        return passed(f"{name} {cap:g}")
    tokenizer = described(subject.pipeline.tokenizer)
    texts = [text for row in (subject.pipeline.dataset or ())[:ROWS] if (text := completion_of(row))]
    lengths = [len(tokenizer.encode(text)) + 1 for text in texts]
    long = [length for length in lengths if length > cap]
    if long:
        told = failed if len(long) == len(lengths) else warned
        return told(
            "config",
            f"{len(long)} of {len(lengths)} gold completions are longer than {name} {cap:g}, up to {max(long)}.",
            expected=f"at least {max(long)}",
            got=f"{cap:g}",
            example=given.example("max_completion_tokens"),
        )
    return passed(f"{name} {cap:g}")
