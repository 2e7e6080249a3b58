"""What stands after the end of text does not reach the reward."""

import ast

from rlprobe.verifier.decoding import decoder
from rlprobe.verifier.measure.source import pieces
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed, warned
from rlprobe.verifier.subject import Subject

BEFORE, AFTER = "The answer is 42.", "Question: more?"
END_WORDS = ("eos", "end_of", "stop_token", "im_end")
CHECK = Check(
    id="V505",
    title="text after the end of text is not decoded",
    formula="decode(ids + EOS + more) = decode(ids + EOS)",
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
    knows_end = used.binding.takes("mask") or used.reading.mentions(*END_WORDS)
    before, tail = tokenizer.encode(BEFORE), tokenizer.encode(AFTER)
    wanted, spelt = tokenizer.decode(before).strip(), tokenizer.decode(tail).strip()
    for after in (tail, [*tail, end]):
        got = used.rows([before], after=after)[0].strip()
        if got == wanted:
            continue
        if not knows_end and got.startswith(wanted) and got.endswith(spelt):
            subject.measured["text after the end of text"] = "decoded: ids are cut before"
            return passed("it decodes all ids that it is given; the trainer has to cut them at the end of text")
        sieved = got.startswith(wanted) and got.endswith(spelt) and _sieved(subject)
        return (warned if sieved else failed)(
            "decode",
            f"{wanted!r}, the end of text and {spelt!r} decode to {got!r:.100}."
            + (" Right only where ids are cut before." if sieved else ""),
            expected=repr(wanted),
            got=repr(got)[:120],
            example={"ids": [*before, end, *after]},
            fingerprint="text after the end is kept" if spelt and spelt in got else "",
            where=used.where,
        )
    return passed()


def _sieved(subject: Subject) -> bool:
    """Whether the end is named in conditions of comprehensions alone: left out like padding, and not looked for."""
    nodes = [node for piece in pieces(subject, ("decode",)) for node in ast.walk(piece.tree)]
    conditions = [one for node in nodes if isinstance(node, ast.comprehension) for one in node.ifs]
    inside = {id(node) for condition in conditions for node in ast.walk(condition)}
    named = [id(node) for node in nodes if _names_end(node)]
    return bool(named) and inside.issuperset(named)


def _names_end(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=text) | ast.Attribute(attr=text) | ast.Constant(value=str(text)):
            return " " not in text and any(word in text.lower() for word in END_WORDS)  # prose is a docstring
    return False
