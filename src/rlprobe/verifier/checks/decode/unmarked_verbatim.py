"""A completion without markers comes out word for word: no letter, line or case is lost."""

from rlprobe.verifier.decoding import decoder
from rlprobe.verifier.measure.reasoning import usable
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject

TEXTS = (
    "The answer is 42.",
    "7",
    "A",
    "think, thin king, nothing",
    "Two\nlines and\ttab",
    "First.\n\n\nThen  two  blanks.\n    Indented.",
    "MiXed Case, ÄÖ",
    "#### 42",
    "so \\boxed{\\frac{1}{2}} it is",
    "a < b, c > d, &amp; \"quotes\" and 'more' %s {x}",
    "```python\nx = [1, 2]\n```",
    '{"answer": 42}',
)
CHECK = Check(
    id="V514",
    title="a completion without markers decodes word for word",
    formula="no marker in text  =>  decode(ids) = text",
    stage="decode",
    category="string processing",
    needs=("decode",),
    fix="Return the text as it is where no marker is found; leave the branches with markers.",
    causes=("EMPTY_COMPLETIONS", "DECODE_MISMATCH", "REWARD_CONSTANT"),
)


def run(subject: Subject) -> Outcome:
    """Plain texts with their end and cut off by the length, blanks at both ends apart."""
    used = decoder(subject)
    for text in TEXTS:
        if not usable(used, text):
            continue
        got, cut_off = used.text(text), "" if used.takes_text else used.bare([text])[0]
        truncated = got.strip() == text.strip() and bool(cut_off.strip())  # some drop rows that never end
        got = cut_off if truncated else got
        if got.strip() != text.strip():
            return failed(
                "decode",
                f"{text!r}{' without an end of text' if truncated else ''} decodes to {got!r:.100}.",
                expected=repr(text),
                got=repr(got)[:120],
                example={"text": text},
                fingerprint=_mistake(text, got),
                where=used.where,
            )
    return passed()


def _mistake(text: str, got: str) -> str:
    if not got.strip():
        return "text without markers comes out empty"
    if got.lower() == text.lower():
        return "the case is changed"
    if got.split() == text.split():
        return "line breaks and blanks are lost"
    if got.strip() == text.strip()[::-1]:
        return "reversed"
    return "cut" if got.strip() in text else ""
