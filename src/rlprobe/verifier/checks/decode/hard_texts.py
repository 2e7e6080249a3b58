"""Letters of several bytes, very long texts and texts of blanks survive decoding."""

from rlprobe.verifier.decoding import Decoder, decoder
from rlprobe.verifier.measure.reasoning import usable
from rlprobe.verifier.measure.shapes import LETTERS
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject

LONG = "".join(f"{number} and " for number in range(1500))  # 12,890 characters, no two parts alike
TEXTS = (
    ("letters of several bytes", LETTERS),
    ("letters of several bytes", "äöüßéèñ"),
    ("letters of four bytes", "🙂🙂"),
    ("letters of three bytes", "東京 is Tokyo"),
    ("blanks at the start", "   indented"),
    ("a very long text", LONG),
    ("blanks alone", "   "),
    ("no text", ""),
)
CHECK = Check(
    id="V513",
    title="foreign letters and long texts survive decoding",
    formula="decode(encode(text)) = text, for letters of several bytes and long texts",
    stage="decode",
    category="string processing",
    needs=("decode",),
    fix="Decode all ids of a row at once, without a length limit and without changing the encoding.",
    causes=("GIBBERISH", "DECODE_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """Each text that the tokenizer itself can spell."""
    used = decoder(subject)
    for name, text in TEXTS:
        if not usable(used, text):
            if used.tokenizer is not None and used.tokenizer.decode(used.tokenizer.encode(text)) == _mojibake(text):
                return _garbled(used, name, text)
            continue
        got = used.text(text)
        if got.strip() != text.strip():
            lost = next(
                (index for index, pair in enumerate(zip(got, text, strict=False)) if pair[0] != pair[1]), len(got)
            )
            return failed(
                "decode",
                f"A completion of {name} ({len(text)} characters) comes out with {len(got)}, "
                f"different from character {lost} on: {got[lost : lost + 20]!r} for {text[lost : lost + 20]!r}.",
                expected=repr(text)[:120],
                got=repr(got)[:120],
                example={"text": text if len(text) < 200 else f"{len(text)} characters: {text[:60]}..."},
                fingerprint="cut at a fixed length" if text.startswith(got) and got else "",
                where=used.where,
            )
    return passed()


def _mojibake(text: str) -> str:
    return text.encode("utf-8").decode("latin-1")


def _garbled(used: Decoder, name: str, text: str) -> Outcome:
    return failed(
        "decode",
        f"A completion of {name}, {text!r}, comes back from the tokenizer as {_mojibake(text)!r}.",
        expected=repr(text),
        got=repr(_mojibake(text)),
        example={"text": text},
        fingerprint="UTF-8 is read as Latin-1",
        where=used.where,
    )
