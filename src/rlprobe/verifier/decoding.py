"""The user's decoder as (text) -> text or (rows of ids) -> texts, whichever of the usual conventions it has."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rlprobe.verifier.binding import Binding
from rlprobe.verifier.function import RaisedError, location, prepare, told
from rlprobe.verifier.measure.reading import Reading, read
from rlprobe.verifier.measure.tokenizer import ByteTokenizer, Tokenizer, described, found_in
from rlprobe.verifier.patience import limited
from rlprobe.verifier.subject import Subject, Unavailable

Form = Literal["list", "numpy", "torch"]
TEXT_NAMES = frozenset(("text", "texts", "completion", "response", "output", "outputs", "generated", "raw", "content"))
TRIALS = (("The sum is 42.", "It is so."), ("42", "7"), ("ab", "a"))  # two texts of unequal length
NO_TOKENIZER = "decode takes ids, and no tokenizer was handed over or found in it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoder:
    """A decoder with its convention.

    Attributes:
        target: the user's callable.
        binding: parameters to roles.
        reading: its strings and names.
        tokenizer: that encodes what it decodes; None where it takes text.
        batch: whether it takes several rows at a time.
        form: of the ids.
    """

    target: Callable[..., object]
    binding: Binding
    reading: Reading
    tokenizer: Tokenizer | None
    batch: bool = False
    form: Form = "list"

    @property
    def takes_text(self) -> bool:
        """Whether it takes text instead of ids."""
        return self.tokenizer is None

    @property
    def where(self) -> str:
        """File and line of the function."""
        return location(self.target)

    def texts(self, texts: Sequence[str]) -> list[str]:
        """Texts after encoding, the end of text, padding and decoding; for a function of text, its results.

        Raises:
            RaisedError: it raised, or the result is not one text each.
        """
        if self.tokenizer is None:
            return self._called(list(texts), None, {"ids": list(texts)})
        return self.rows([self.tokenizer.encode(text) for text in texts])

    def text(self, text: str) -> str:
        """The same for one text."""
        return self.texts([text])[0]

    def bare(self, texts: Sequence[str]) -> list[str]:
        """Texts of rows without end and padding, each as long as it is: trainers that keep lists of ids decode those.

        Raises:
            RaisedError: as above.
        """
        assert self.tokenizer is not None  # callers ask takes_text first
        ids = [self.tokenizer.encode(text) for text in texts]
        return self._called(ids, [[1] * len(row) for row in ids], {"ids": ids})

    def rows(self, rows: Sequence[Sequence[int]], *, after: Sequence[int] = ()) -> list[str]:
        """Texts of rows of ids: the end of text and `after` are put behind each, then all are padded to one length."""
        tokenizer = self.tokenizer
        assert tokenizer is not None  # callers ask takes_text first
        ended = [[*row, *([] if tokenizer.eos is None else [tokenizer.eos]), *after] for row in rows]
        kept = [len(row) + (tokenizer.eos is not None) for row in rows]
        width = max((len(row) for row in ended), default=0)
        fill = tokenizer.pad if tokenizer.pad is not None else tokenizer.eos
        if fill is not None:
            ended = [[*row, *([fill] * (width + 2 - len(row)))] for row in ended]
        masks = [[int(index < count) for index in range(len(row))] for row, count in zip(ended, kept, strict=True)]
        return self._called(ended, masks, {"ids": ended})

    def _called(self, rows: Sequence[object], masks: object, example: dict[str, object]) -> list[str]:
        if self.batch:
            return self._texts(self._raw(rows, masks, example), len(rows), example)
        listed = masks if isinstance(masks, list) else [None] * len(rows)
        pairs = zip(rows, listed, strict=True)
        return [self._texts(self._raw(row, mask, {"ids": row}), 1, {"ids": row})[0] for row, mask in pairs]

    def _raw(self, ids: object, mask: object, example: dict[str, object]) -> object:
        values: dict[str, object] = {"ids": ids if self.takes_text else _formed(ids, self.form)}
        if mask is not None:
            values["mask"] = _formed(mask, self.form)
        if self.tokenizer is not None:
            values["tokenizer"] = self.tokenizer.given
        positional, keywords = self.binding.arrange(
            {role: value for role, value in values.items() if self.binding.takes(role)}
        )
        try:
            return limited(lambda: self.target(*positional, **keywords), slot="decode", target=self.target)
        except Exception as error:
            raise RaisedError("decode", told(error, self.target), example) from error

    def _texts(self, result: object, count: int, example: dict[str, object]) -> list[str]:
        if isinstance(result, tuple) and result and not isinstance(result[0], str):
            result = result[0]
        listed = [result] if not self.batch and isinstance(result, str) else result
        if not self.batch and isinstance(result, list) and len(result) == 1:
            listed = result
        if not isinstance(listed, list | tuple) or not all(isinstance(one, str) for one in listed):
            raise RaisedError("decode", f"no exception, but {result!r:.60}, expected text", example)
        if len(listed) != count:
            raise RaisedError("decode", f"no exception, but {len(listed)} texts for {count} rows", example)
        return [str(one) for one in listed]


def decoder(subject: Subject) -> Decoder:
    """The decoder in the first convention in which it answers with text.

    Raises:
        Unavailable: none was handed over, or there is no tokenizer for it.
        RaisedError: it answers in no convention.
    """
    found = subject.remember("decoder", lambda: _remembered(subject))
    if isinstance(found, Exception):
        raise found
    assert isinstance(found, Decoder)
    return found


def _remembered(subject: Subject) -> object:
    try:
        return _settled(subject)
    except (Unavailable, RaisedError) as error:
        return error


def _settled(subject: Subject) -> Decoder:
    target = subject.pipeline.decode
    if target is None:
        raise Unavailable("decode was not handed over", ("decode",))
    try:
        binding = prepare(target, "decode", subject.pipeline.map, subject.declared).binding
    except TypeError as error:
        raise Unavailable(str(error)) from error
    assert callable(target)  # prepare looked
    base = Decoder(target=target, binding=binding, reading=read(target), tokenizer=_tokenizer(subject, binding))
    first: RaisedError | None = None
    for candidate in _conventions(base):
        try:
            found = candidate.texts(_trial(candidate))
        except RaisedError as error:
            first = first or error
            continue
        if candidate.takes_text or any(found):
            return candidate
    if base.tokenizer is None:
        raise Unavailable(NO_TOKENIZER, ("tokenizer",))
    fallback = next((one for one in _conventions(base) if not one.takes_text and _answers(one)), None)
    if fallback is not None:
        return fallback
    assert first is not None  # a convention that did not answer raised
    raise first


def _trial(candidate: Decoder) -> tuple[str, str]:
    """The first pair of texts that the tokenizer can spell; the first where it can spell none."""
    if candidate.tokenizer is None:
        return TRIALS[0]
    spells = candidate.tokenizer.faithful
    return next((pair for pair in TRIALS if all(spells(one) for one in pair)), TRIALS[0])


def _answers(candidate: Decoder) -> bool:
    try:
        return len(candidate.texts(_trial(candidate))) == 2
    except RaisedError:
        return False


def _conventions(base: Decoder) -> list[Decoder]:
    text = [replace(base, tokenizer=None, batch=batch) for batch in (False, True)]
    ids: list[Decoder] = []
    if base.tokenizer is not None:
        forms: list[Form] = ["list", "numpy", "torch"] if "torch" in sys.modules else ["list", "numpy"]
        ids = [replace(base, batch=batch, form=form) for batch in (True, False) for form in forms]
    parameter = next((one for one in base.binding.bound if one.role == "ids"), None)
    named = parameter is not None and (
        parameter.parameter.lower() in TEXT_NAMES or parameter.annotation in ("<class 'str'>", "str")
    )
    texts_first = named or (base.tokenizer is None)
    if base.binding.takes("tokenizer"):
        return ids
    return text + ids if texts_first else ids + text


def _tokenizer(subject: Subject, binding: Binding) -> Tokenizer | None:
    eos, pad = subject.declared.get("eos_id"), subject.declared.get("pad_id")
    given = subject.pipeline.tokenizer
    if given is None:
        given = found_in(subject.pipeline.decode)
    if given is None and binding.takes("tokenizer"):
        given = ByteTokenizer()
    return None if given is None else described(given, eos, pad)


def _formed(rows: object, form: Form) -> object:
    if form == "list" or not isinstance(rows, list):
        return rows
    array = np.asarray(rows)
    if form == "numpy":
        return array
    import torch

    return torch.from_numpy(array)
