"""Tokenizers seen from outside: the user's own, found where it is, or a tiny one of ours where none is known."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rlprobe.verifier.measure.reading import function_of, plain


class ByteTokenizer:
    """UTF-8 bytes as ids 3 to 258 and three special tokens, with the methods and names that HF tokenizers have."""

    special = ("<pad>", "<bos>", "<eos>")
    pad_token, bos_token, eos_token = special
    pad_token_id, bos_token_id, eos_token_id = 0, 1, 2
    all_special_ids = (0, 1, 2)
    all_special_tokens = special
    padding_side = "right"

    def encode(self, text: str, add_special_tokens: bool = False) -> list[int]:  # noqa: FBT001, FBT002 - HF's signature
        """Ids of a text."""
        ids = [byte + 3 for byte in text.encode("utf-8")]
        return [1, *ids] if add_special_tokens else ids

    def decode(self, ids: Iterable[int], skip_special_tokens: bool = False, **_: object) -> str:  # noqa: FBT001, FBT002 - HF's
        """Text of ids."""
        pieces: list[bytes] = []
        for one in ids:
            if int(one) > 2:
                pieces.append(bytes([int(one) - 3]))
            elif not skip_special_tokens:
                pieces.append(self.special[int(one)].encode())
        return b"".join(pieces).decode("utf-8", errors="replace")

    def batch_decode(self, rows: Iterable[Iterable[int]], **options: bool) -> list[str]:
        """Texts of several rows."""
        return [self.decode(row, **options) for row in rows]

    def convert_ids_to_tokens(self, ids: Iterable[int]) -> list[str]:
        """One text an id."""
        return [self.decode([one]) for one in ids]


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """What the checks need of a tokenizer.

    Attributes:
        given: the object itself.
        eos, pad: ids; None where it has none.
        artefacts: spellings of its special tokens that must not stand in a decoded text.
        ours: whether it is ByteTokenizer.
    """

    given: object
    eos: int | None
    pad: int | None
    artefacts: tuple[str, ...]
    ours: bool

    def encode(self, text: str) -> list[int]:
        """Ids of a text without special tokens around it; letters on which the tokenizer raises are left out."""
        try:
            return self._encoded(text)
        except Exception:  # whatever a user's tokenizer raises on letters that it lacks
            return [one for letter in text for one in self._letter(letter)]

    def _letter(self, letter: str) -> list[int]:
        try:
            return self._encoded(letter)
        except Exception:  # the same
            return []

    def _encoded(self, text: str) -> list[int]:
        encode: Callable[..., object] = self.given.encode  # type: ignore[attr-defined]  # seen_as_tokenizer looked
        try:
            found = encode(text, add_special_tokens=False)
        except TypeError:
            found = encode(text)
        found = getattr(found, "ids", found)
        if hasattr(found, "tolist"):
            found = found.tolist()
        assert isinstance(found, Sequence)
        ids = [int(one) for one in found]
        return ids[:-1] if ids and self.eos is not None and ids[-1] == self.eos else ids

    def decode(self, ids: Sequence[int], *, skip: bool = True) -> str:
        """The tokenizer's own text of ids."""
        decode: Callable[..., object] = self.given.decode  # type: ignore[attr-defined]  # seen_as_tokenizer looked
        try:
            return str(decode(list(ids), skip_special_tokens=skip))
        except TypeError:
            return str(decode(list(ids)))

    def faithful(self, text: str) -> bool:
        """Whether the text comes back from its ids but for blanks around it: letters that it lacks say nothing."""
        ids = self.encode(text)
        return text.strip() in (self.decode(ids).strip(), self.decode(ids, skip=False).strip())


def seen_as_tokenizer(candidate: object) -> bool:
    """Whether the object has methods encode and decode."""
    return (
        not isinstance(candidate, str | bytes | type)
        and callable(getattr(candidate, "encode", None))
        and callable(getattr(candidate, "decode", None))
    )


def described(given: object, eos: object = None, pad: object = None) -> Tokenizer:
    """The tokenizer with its ids; eos and pad stand in where it does not say."""
    own_eos, own_pad = _id(given, "eos", eos), _id(given, "pad", pad)
    spelt = [str(getattr(given, f"{name}_token", "") or "") for name in ("eos", "pad", "bos")]
    artefacts = tuple(dict.fromkeys(one for one in spelt if one and not one.isspace()))
    return Tokenizer(given, own_eos, own_pad, artefacts, isinstance(given, ByteTokenizer))


def found_in(function: object) -> object:
    """A tokenizer that the function closes over, holds as an attribute or names as a global; None without one."""
    held: list[object] = list(vars(owner).values()) if hasattr(owner := _owner(function), "__dict__") else []
    code = function_of(function)
    if code is not None:
        for cell in code.__closure__ or ():
            try:
                held.append(cell.cell_contents)
            except ValueError:
                continue
        held += list(code.__kwdefaults__.values()) if code.__kwdefaults__ else []
        held += list(code.__defaults__ or ())
        held += [code.__globals__[name] for name in code.__code__.co_names if name in code.__globals__]
    return next((one for one in held if seen_as_tokenizer(one)), None)


def _owner(function: object) -> object:
    return getattr(plain(function), "__self__", plain(function))


def _id(given: object, name: str, other: object) -> int | None:
    value = getattr(given, f"{name}_token_id", getattr(given, f"{name}_id", None))
    if callable(value):  # SentencePiece
        value = value()
    value = other if value is None else value
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        value = value[0]
    return int(value) if isinstance(value, int) and value >= 0 else None
