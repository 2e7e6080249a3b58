"""The padding id is told from the end of text, or the mask is known to cope."""

from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V712",
    title="padding does not swallow the end of text",
    formula="pad id ≠ EOS id, or the mask goes by the first EOS",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Pad with a token of its own, or mask by the place of the first EOS (V502).",
    causes=("NO_EOS", "LENGTH_EXPLOSION"),
)


def run(subject: Subject) -> Outcome:
    """Ids of the settings, else of the tokenizer."""
    given = settings(subject)
    tokenizer = subject.pipeline.tokenizer
    end = getattr(tokenizer, "eos_token_id", None) if tokenizer is not None else None
    pad = getattr(tokenizer, "pad_token_id", None) if tokenizer is not None else None
    end, pad = given.get("eos_id") or end, given.get("pad_id") if given.get("pad_id") is not None else pad
    for name, value in (("eos_id", end), ("pad_id", pad)):
        if isinstance(value, int) and value < 0 and value not in (-1, -100):
            return failed(
                "config",
                f"{given.named(name)} is {value}: no token has it.",
                expected="an id of the vocabulary",
                got=str(value),
                example={name: value},
            )
    if end is None or pad is None:
        return not_checkable("the ids of padding and end of text are not known", missing=("tokenizer",))
    ends = end if isinstance(end, list | tuple) else (end,)
    if pad in ends and not subject.has("completion_mask"):
        return not_checkable(
            f"padding and end of text are one id ({pad}): whether the mask copes is not known",
            missing=("completion_mask",),
        )
    return passed("one id pads and ends, and the mask is held to it (V502)" if pad in ends else "")
