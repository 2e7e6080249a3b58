"""What stands after the end of text does not reach the reward."""

from rlprobe.verifier.decoding import decoder
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
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
    before, tail = tokenizer.encode(BEFORE), tokenizer.encode(AFTER)
    wanted, spelt = tokenizer.decode(before).strip(), tokenizer.decode(tail).strip()
    for after in (tail, [*tail, end]):
        got = used.rows([before], after=after)[0].strip()
        if got == wanted:
            continue
        if not knows_end and got.startswith(wanted) and got.endswith(spelt):
            subject.measured["text after the end of text"] = "decoded: ids are cut before"
            return passed("it decodes all ids that it is given; the trainer has to cut them at the end of text")
        return failed(
            "decode",
            f"{wanted!r}, the end of text and {spelt!r} decode to {got!r:.100}.",
            expected=repr(wanted),
            got=repr(got)[:120],
            example={"ids": [*before, end, *after]},
            fingerprint="text after the end is kept" if spelt and spelt in got else "",
            where=used.where,
        )
    return passed()
