"""What a decoder does with the reasoning of a completion: keeps it, or hands on what follows it."""

import re
from dataclasses import dataclass
from typing import Literal

from rlprobe.verifier.decoding import Decoder, decoder
from rlprobe.verifier.measure.forms import tags
from rlprobe.verifier.subject import Subject

Family = Literal["keep", "extract", "none"]
REASONING, ANSWER = "Two and two are four.", "The answer is 42."
_TAG = re.compile(r"</?\w+>")
KNOWN = ("think", "thinking", "reasoning", "thought", "scratchpad", "analysis", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """A decoder with what it is held to.

    Attributes:
        decoder: the user's.
        tag: name of the reasoning tag.
        family: "keep" or "extract" as declared, else as measured; "none" where it does neither.
        declared: whether the family was declared.
        whole, got: a completion with reasoning, and what came of it.
    """

    decoder: Decoder
    tag: str
    family: Family
    declared: bool
    whole: str
    got: str

    def text(self, reasoning: str, rest: str) -> str:
        """A completion with closed reasoning."""
        return f"<{self.tag}>{reasoning}</{self.tag}>{rest}"


def contract(subject: Subject) -> Contract:
    """The decoder's contract.

    Raises:
        Unavailable, RaisedError: as for `decoder`.
    """
    found = subject.remember("reasoning", lambda: _made(subject))
    assert isinstance(found, Contract)
    return found


def usable(used: Decoder, text: str) -> bool:
    """Whether the decoder's tokenizer can spell the text at all: tags by special tokens too, the rest without any."""
    if used.tokenizer is None:
        return True
    untagged = _TAG.sub("", text)
    ordinary = used.tokenizer.decode(used.tokenizer.encode(untagged)).strip() == untagged.strip()
    return ordinary and used.tokenizer.faithful(text)


def _made(subject: Subject) -> Contract:
    used = decoder(subject)
    named = subject.declared.get("reasoning_tags")
    given = [str(one).strip("</>") for one in named] if isinstance(named, list | tuple) else []
    own = [name for name in tags(used.reading) if name in KNOWN]
    tag = (given or own or ["think"])[0]
    whole = f"<{tag}>{REASONING}</{tag}>{ANSWER}"
    got = used.text(whole)
    said = subject.declared.text("reasoning")
    if said in ("keep", "extract"):
        family: Family = "keep" if said == "keep" else "extract"
        return Contract(decoder=used, tag=tag, family=family, declared=True, whole=whole, got=got)
    if not usable(used, whole):
        return Contract(decoder=used, tag=tag, family="none", declared=False, whole=whole, got=got)
    measured: Family = "keep" if got.strip() == whole else "extract" if got.strip() == ANSWER else "none"
    subject.measured["reasoning"] = {"keep": "kept", "extract": "cut off", "none": "neither kept nor cut off"}[measured]
    return Contract(decoder=used, tag=tag, family=measured, declared=False, whole=whole, got=got)
