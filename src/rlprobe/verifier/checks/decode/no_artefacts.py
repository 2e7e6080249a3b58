"""The decoded text holds none of the tokens that end, begin or pad a text."""

from rlprobe.verifier.decoding import decoder
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject

TEXTS = ("The answer is 42.", "<think>So.</think><answer>42</answer>", "")
CHECK = Check(
    id="V504",
    title="no end of text and no padding is left in the text",
    formula="decode(ids) holds no BOS, EOS or PAD",
    stage="decode",
    category="reward and decoding mismatch",
    needs=("decode",),
    fix="Decode with skip_special_tokens=True, or take the end of text and the padding out before scoring.",
    causes=("FORMAT_LOSS", "REWARD_TEXT_MISMATCH", "REWARD_CONSTANT"),
)


def run(subject: Subject) -> Outcome:
    """Two rows of different length and an empty one, ended and padded."""
    used = decoder(subject)
    if used.tokenizer is None:
        return not_applicable("it takes text")
    for text, got in zip(TEXTS, used.texts(TEXTS), strict=True):
        left = next((one for one in used.tokenizer.artefacts if one in got and one not in text), "")
        if left:
            return failed(
                "decode",
                f"{text!r} decodes to {got!r:.100}: {left!r} is left in it.",
                expected=f"a text without {left!r}",
                got=repr(got)[:120],
                example={"text": text, "ids": used.tokenizer.encode(text)},
                fingerprint="special tokens are kept",
                where=used.where,
            )
    return passed()
