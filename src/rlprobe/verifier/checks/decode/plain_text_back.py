"""What a tokenizer encodes it gives back: no letter becomes another one, no byte of an encoded letter is dropped."""

import unicodedata

from rlprobe.verifier.decoding import decoder
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject

TEXTS = ("The answer is 42.", "x = 7 + 35", "äöü", "東京", "🙂")
UNKNOWN = ("unk", "UNK", "\ufffd", "⁇")  # how a tokenizer shows letters that it lacks
CHECK = Check(
    id="V511",
    title="a tokenizer gives back the text that it encoded",
    formula="decode(encode(text)) = text",
    stage="decode",
    category="string processing",
    needs=("decode",),
    fix="Decode by the table that encodes; join all bytes of a text before turning them into letters.",
    causes=("GIBBERISH", "DECODE_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """Plain texts through the tokenizer alone; letters that it lacks, their case and blanks apart."""
    tokenizer = decoder(subject).tokenizer
    if tokenizer is None or tokenizer.ours:
        return not_applicable("no tokenizer of yours is involved")
    for text in TEXTS:
        ids = tokenizer.encode(text)
        if getattr(tokenizer.given, "unk_token_id", None) in ids:
            continue  # it says itself that it lacks a letter
        spelt = tokenizer.decode(ids, skip=False)
        if any(one in spelt for one in (*UNKNOWN, *tokenizer.artefacts)) or not ids:
            continue
        bytes_alone = not text.isascii() and len(ids) >= len(text.encode())
        if _comes_of(spelt, text) and not (bytes_alone and _bare(spelt) != _bare(text)):
            continue
        return failed(
            "tokenizer",
            f"{text!r} is encoded and comes back as {spelt!r:.80}.",
            expected=repr(text),
            got=repr(spelt)[:120],
            example={"text": text, "ids": ids},
            fingerprint="bytes of a letter are dropped" if bytes_alone else "other letters come back",
        )
    return passed()


def _comes_of(spelt: str, text: str) -> bool:
    """Whether the letters of one text stand in the other in their order: some may be missing, none may be new."""
    letters = iter(_bare(text))
    return all(one in letters for one in _bare(spelt))


def _bare(text: str) -> str:
    """Lower case, without blanks and accents."""
    return "".join(
        one
        for one in unicodedata.normalize("NFKD", text.lower())
        if one.isprintable() and not one.isspace() and not unicodedata.combining(one)
    )
