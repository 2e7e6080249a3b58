"""A rewarded completion that is encoded, ended, padded and decoded as in training keeps its reward."""

from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.gold import Gold, golds
from rlprobe.verifier.measure.reasoning import Contract, contract, usable
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V507",
    title="a rewarded completion keeps its reward through decoding",
    formula="score(decode(pad(encode(right)))) = score(right)",
    stage="decode",
    category="reward and decoding mismatch",
    needs=("decode", "reward"),
    fix="Score the text that the form is asked of: decode for the reward without cutting what it looks for.",
    causes=("REWARD_TEXT_MISMATCH", "REWARD_CONSTANT", "FORMAT_LOSS", "DECODE_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """The gold completion of each reward function as text and through the decoder."""
    held = contract(subject)
    tried = 0
    for gold in golds(subject):
        if gold.kind not in ("answer", "given", "format") or gold.inverted:
            continue
        for text in _paths(held, gold):
            if not usable(held.decoder, text):
                continue
            tried += 1
            outcome = _judged(held, gold, text)
            if outcome is not None:
                return outcome
    if not tried:
        return not_checkable("no rewarded completion is known", missing=('dataset with "completion"',))
    return passed()


def _paths(held: Contract, gold: Gold) -> list[str]:
    text = gold.gold.completion
    return [text] if held.family == "keep" or "think>" in text else [text, held.text("So it is.", f"\n{text}")]


def _judged(held: Contract, gold: Gold, text: str) -> Outcome | None:
    received = held.decoder.text(text)
    try:
        score = gold.score(gold.gold.saying(received))
    except RaisedError as error:
        got = error.told
    else:
        if score > (gold.gold_score + gold.wrong_score) / 2:
            return None
        got = f"{score:.4g}"
    return failed(
        "decode",
        f"{gold.reward.name} gives {text!r:.80} {gold.gold_score:.4g}; what it receives after decoding is "
        f"{received!r:.80}, and that gets {got}.",
        expected=f"{gold.gold_score:.4g}",
        got=got,
        example={"text": text, "received": received},
        fingerprint="the tags that the reward looks for are gone" if _untagged(text, received) else "",
        where=held.decoder.where,
    )


def _untagged(text: str, received: str) -> bool:
    return "<" in text and received.count("<") < text.count("<")
