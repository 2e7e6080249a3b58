"""Foreign text made visible: control characters, direction marks and special tokens shown, what goes round folded up.

Nothing of a text is dropped in silence: what stands for something else is marked, and what is left out is counted.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from rlprobe.forensics.repeats import LONGEST_TEXT, loops, repeated_spans

Kind = Literal["text", "repeated", "special", "control", "note", "found"]
SHOWN_ROUNDS = 2  # times that a repeated unit is shown before the others are counted
SHOWN_CHARACTERS = 12  # of a loop of short units
HEAD = 0.6  # fraction of the room that the beginning of a long text gets; its end gets the rest
MARKS = 2  # combining marks on one character that are shown as they are
_SPECIAL = re.compile(
    r"<[|｜][^<>|｜\s]{1,40}[|｜]>|</?s>|<(?:pad|unk|bos|eos|eot|mask|sep|cls)>|\[/?INST\]|<</?SYS>>"
    r"|<(?:start|end)_of_(?:turn|image)>|</?(?:think|answer|tool_call|tool_response|reasoning)>|\[(?:PAD|UNK|CLS|SEP|MASK)\]",
    re.IGNORECASE,
)
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_ORDINARY = re.compile(r"[ -~]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of shown text, what it is, and how many characters it stands for where it is a note."""

    text: str
    kind: Kind
    hides: int = 0


def pieces(text: str, *, room: int, find: tuple[str, ...] = ()) -> list[Piece]:
    """A text as pieces that are safe to print.

    Args:
        text: whatever a model wrote.
        room: characters that are shown, about; the middle of a longer text is left out and counted.
        find: texts whose occurrences are marked, in upper or lower case.
    """
    folded = list(_folded(text)) if len(text) <= LONGEST_TEXT else _ends(text)
    if sum(len(piece.text) for piece in folded) > room:
        folded = _without_middle(folded, room)
    marked = [part for piece in folded for part in _marked(piece, find)]
    return _joined(part for piece in marked for part in _safe(piece))


def _ends(text: str) -> list[Piece]:
    """A huge text: what lies between its first and its last stretch is not even looked at."""
    half = LONGEST_TEXT // 2
    left = len(text) - 2 * half
    return [*_folded(text[:half]), Piece(text=_left_out(left), kind="note", hides=left), *_folded(text[-half:])]


def _folded(text: str) -> Iterator[Piece]:
    """The text with every loop shown a few times and then counted."""
    at = 0
    for loop in loops(text):
        yield from _grams(text[at : loop.start])
        rounds = max(SHOWN_ROUNDS, -(-SHOWN_CHARACTERS // loop.unit))
        shown = loop.start + rounds * loop.unit if rounds < loop.rounds - 1 else loop.end
        yield Piece(text=text[loop.start : shown], kind="repeated")
        if shown < loop.end:
            yield Piece(text=f"⟨{loop.rounds - rounds:,} times more⟩", kind="note", hides=loop.end - shown)
        at = loop.end
    yield from _grams(text[at:])


def _grams(text: str) -> Iterator[Piece]:
    at = 0
    for start, end in repeated_spans(text):
        yield Piece(text=text[at:start], kind="text")
        yield Piece(text=text[start:end], kind="repeated")
        at = end
    yield Piece(text=text[at:], kind="text")


def _without_middle(folded: list[Piece], room: int) -> list[Piece]:
    """The beginning and the end, with one note between them that counts everything it stands for."""
    head, left = _first(folded, int(room * HEAD))
    tail, middle = _first([_turned(piece) for piece in reversed(left)], room - int(room * HEAD))
    hidden = sum(piece.hides if piece.kind == "note" else len(piece.text) for piece in middle)
    note = Piece(text=_left_out(hidden), kind="note", hides=hidden)
    return [*head, note, *(_turned(piece) for piece in reversed(tail))]


def _first(folded: list[Piece], room: int) -> tuple[list[Piece], list[Piece]]:
    """Pieces up to `room` characters, and the rest; the piece at the edge is cut, a note goes to the rest."""
    for index, piece in enumerate(folded):
        if len(piece.text) > room:
            if piece.kind == "note":
                return folded[:index], folded[index:]
            kept, rest = (replace(piece, text=part) for part in (piece.text[:room], piece.text[room:]))
            return [*folded[:index], kept], [rest, *folded[index + 1 :]]
        room -= len(piece.text)
    return folded, []


def _turned(piece: Piece) -> Piece:
    """The piece read from its end; a note stays as it is."""
    return piece if piece.kind == "note" else replace(piece, text=piece.text[::-1])


def _left_out(characters: int) -> str:
    return f" ⟨{characters:,} characters left out⟩ "


def _marked(piece: Piece, find: tuple[str, ...]) -> Iterator[Piece]:
    """The piece with special tokens and what is looked for in pieces of their own."""
    if piece.kind == "note":
        yield piece
        return
    wanted = [re.escape(each) for each in find if each]
    pattern = re.compile("|".join([f"(?P<special>{_SPECIAL.pattern})", *wanted]), re.IGNORECASE)
    at = 0
    for match in pattern.finditer(piece.text):
        yield Piece(text=piece.text[at : match.start()], kind=piece.kind)
        yield Piece(text=match.group(), kind="special" if match.lastgroup == "special" else "found")
        at = match.end()
    yield Piece(text=piece.text[at:], kind=piece.kind)


def _safe(piece: Piece) -> Iterator[Piece]:
    """The piece with every character that would not be seen, or would steer the terminal, replaced by a sign for it."""
    if piece.kind == "note" or _ORDINARY.fullmatch(piece.text):
        yield piece
        return
    stacked = 0
    for character in piece.text:
        category = unicodedata.category(character)
        stacked = stacked + 1 if category in ("Mn", "Me") else 0
        if character == "\n":
            yield Piece(text="↵\n", kind="control")
        elif category in _HIDDEN or stacked > MARKS:
            yield Piece(text=_sign(character), kind="control")
        else:
            yield Piece(text=character, kind=piece.kind)


def _sign(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)  # Unicode's pictures of control characters
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def _joined(parts: Iterator[Piece]) -> list[Piece]:
    out: list[Piece] = []
    texts: list[str] = []
    kind: Kind = "text"
    for part in parts:
        if part.kind != kind and texts:
            out.append(Piece(text="".join(texts), kind=kind))
            texts = []
        kind = part.kind
        if part.text:
            texts.append(part.text)
    if texts:
        out.append(Piece(text="".join(texts), kind=kind))
    return out
