"""A tag that a reward looks for is still there after decoding, also where it is a special token."""

from rlprobe.verifier.measure.forms import tags
from rlprobe.verifier.measure.reading import read
from rlprobe.verifier.measure.reasoning import contract
from rlprobe.verifier.measure.tokenizer import Tokenizer
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V508",
    title="the tags that rewards look for survive decoding",
    formula="tag ∈ text  =>  tag ∈ decode(encode(text))",
    stage="decode",
    category="reward and decoding mismatch",
    needs=("decode", "reward"),
    fix="Decode with skip_special_tokens=False and take out the end of text and the padding, or unregister the tags.",
    causes=("FORMAT_LOSS", "REWARD_COMPONENT_DEAD", "DECODE_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """Each tag of the rewards' own strings, in a completion without reasoning."""
    held = contract(subject)
    tokenizer = held.decoder.tokenizer
    if held.family == "extract":
        return not_applicable("the reasoning is cut off, and the reward is given the rest (V507)")
    named = dict.fromkeys(name for target in subject.rewards() for name in tags(read(target)))
    for name in named:
        for tag in (f"<{name}>", f"</{name}>"):
            text = f"It is {tag} here"
            if tokenizer is not None and _unspellable(tokenizer, text):
                continue  # a tokenizer that cannot spell the tag at all is not the decoder's fault
            got = held.decoder.text(text)
            if tag not in got:
                return failed(
                    "decode",
                    f"{text!r} decodes to {got!r:.80}: the tag {tag}, which a reward looks for, is gone.",
                    expected=repr(text),
                    got=repr(got)[:120],
                    example={"text": text},
                    fingerprint="special tokens that the reward needs are skipped",
                    where=held.decoder.where,
                )
    return passed()


def _unspellable(tokenizer: Tokenizer, text: str) -> bool:
    """Whether letters of the text are lost in encoding, so that it comes back with another number of ids."""
    ids = tokenizer.encode(text)
    spelt = tokenizer.decode(ids, skip=False)
    return spelt.strip() != text and len(tokenizer.encode(spelt)) != len(ids)
