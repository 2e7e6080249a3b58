"""Decoding and encoding again gives the ids that were sampled: text that is scored twice is the same text."""

from rlprobe.verifier.measure.tokenizer import described
from rlprobe.verifier.outcome import Check, Outcome, passed, warned
from rlprobe.verifier.subject import Subject

TEXTS = ("The answer is 42.", " leading blank", "Two\nlines", "a  b", "x=1;y=2", "<think>So.</think>7")
CHECK = Check(
    id="V509",
    title="ids survive decoding and encoding",
    formula="encode(decode(ids)) = ids",
    stage="decode",
    category="rollout sync and token identity",
    needs=("tokenizer",),
    fix="Train on the sampled ids; never on ids of re-encoded text.",
    causes=("TRAIN_INFER_MISMATCH", "RATIO_NOT_ONE"),
)


def run(subject: Subject) -> Outcome:
    """Ids of plain texts, decoded and encoded by the tokenizer itself."""
    tokenizer = described(subject.pipeline.tokenizer)
    for text in TEXTS:
        ids = tokenizer.encode(text)
        if not tokenizer.faithful(text):
            continue  # a tokenizer that lacks letters
        again = tokenizer.encode(tokenizer.decode(ids, skip=False))
        if ids != again:
            return warned(
                "tokenizer",
                f"The ids of {text!r} become other ids when they are decoded and encoded again.",
                expected=str(ids)[:120],
                got=str(again)[:120],
                example={"ids": ids},
            )
    return passed()
