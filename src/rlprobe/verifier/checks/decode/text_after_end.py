"""What stands after the end of text does not reach the reward."""

from rlprobe.verifier.decoding import decoder
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed, warned
from rlprobe.verifier.subject import Subject

BEFORE, AFTER = "The answer is 42.", "Question: more?"
CHECK = Check(
    id="V505",
    title="text after the end of text is not decoded",
    stage="decode",
    category="reward and decoding mismatch",
    needs=("decode",),
    fix="Cut the ids at the first EOS before decoding, as the loss does.",
    causes=("REWARD_TEXT_MISMATCH", "LENGTH_EXPLOSION"),
)


def run(subject: Subject) -> Outcome:
    """An ended text with further tokens, and another end, behind it; a mask goes with it where one is taken."""
    used = decoder(subject)
    if used.tokenizer is None:
        return not_applicable("it takes text")
    if used.tokenizer.eos is None:
        return not_applicable("the tokenizer has no end of text")
    tokenizer, end = used.tokenizer, used.tokenizer.eos
    knows_end = used.binding.takes("mask") or used.reading.mentions("eos", "end_of", "stop_token", "im_end")
    for after in (tokenizer.encode(AFTER), [*tokenizer.encode(AFTER), end]):
        got = used.rows([tokenizer.encode(BEFORE)], after=after)[0]
        if got.strip() == BEFORE:
            continue
        told = failed if knows_end or AFTER not in got else warned
        return told(
            "decode",
            f"{BEFORE!r}, the end of text and {AFTER!r} decode to {got!r:.100}.",
            expected=repr(BEFORE),
            got=repr(got)[:120],
            example={"ids": [*tokenizer.encode(BEFORE), end, *after]},
            fingerprint="text after the end is kept" if AFTER in got else "",
            where=used.where,
        )
    return passed()
