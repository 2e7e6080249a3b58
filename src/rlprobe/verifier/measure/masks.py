"""The user's completion mask on planted rows: which ids stand for the end of text and padding, what is expected."""

from dataclasses import dataclass

import numpy as np

from rlprobe.recording.run import FloatArray, IntArray
from rlprobe.verifier.function import Function, RaisedError
from rlprobe.verifier.measure.tokenizer import described
from rlprobe.verifier.subject import Subject, Unavailable

PAIRS = ((2, 0), (7, 3))  # (end of text, padding) where the function takes them
SAME = ((2, 2), (0, 0))
LETTERS = (11, 12, 13, 14)  # ids that are neither


@dataclass(frozen=True, slots=True, kw_only=True)
class Masks:
    """A completion mask with the ids that may be planted.

    Attributes:
        function: the user's.
        distinct: (end of text, padding), two different ids.
        equal: the same where both are one id; empty where the function's own ids differ.
        truncated_kept: whether rows without an end of text are in the loss, as declared or as measured.
    """

    function: Function
    distinct: tuple[tuple[int, int], ...]
    equal: tuple[tuple[int, int], ...]
    truncated_kept: bool
    declared: bool

    def __call__(self, rows: IntArray, eos: int, pad: int) -> FloatArray:
        """The mask [B,T].

        Raises:
            RaisedError: the function raised, or its result has another shape.
        """
        values = self.arguments(rows, eos, pad)
        found = self.function(**values)
        if found.shape != rows.shape:
            told = f"no exception, but a mask of shape {list(found.shape)} for ids of shape {list(rows.shape)}"
            raise RaisedError("completion_mask", told, values)
        return found

    def arguments(self, rows: IntArray, eos: object, pad: int) -> dict[str, object]:
        """Arguments by role, those that the function takes."""
        values = {"completion_ids": rows, "eos_id": eos, "pad_id": pad}
        return {role: value for role, value in values.items() if self.function.takes(role)}

    def expected(self, rows: IntArray, eos: int) -> FloatArray:
        """1 up to and with the first end of text; rows without one as the code treats them."""
        is_end = rows == eos
        first = np.where(is_end.any(axis=1), is_end.argmax(axis=1), rows.shape[1])
        mask = np.arange(rows.shape[1])[None, :] <= first[:, None]
        if not self.truncated_kept:
            mask &= is_end.any(axis=1, keepdims=True)
        return np.asarray(mask, dtype=np.float64)


def masks(subject: Subject) -> Masks:
    """The completion mask, ready to be called.

    Raises:
        Unavailable: it was not handed over, or its end of text is not known.
        RaisedError: it raises on a small valid input.
    """
    found = subject.remember("masks", lambda: _made(subject))
    if isinstance(found, Exception):
        raise found
    assert isinstance(found, Masks)
    return found


def table(eos: int, pad: int) -> IntArray:
    """Rows that end in the middle, at once, at the last place, and never; [4,6]."""
    a, b, c, d = LETTERS
    return np.array(
        [
            [a, b, eos, pad, pad, pad],
            [eos, pad, pad, pad, pad, pad],
            [a, b, c, d, a, eos],
            [b, c, d, a, b, c],
        ]
    )


def _made(subject: Subject) -> object:
    try:
        function = subject.function("completion_mask")
        distinct, equal = _ids(subject, function)
        made = Masks(function=function, distinct=distinct, equal=equal, truncated_kept=True, declared=False)
        said = subject.declared.get("mask_truncated")
        if said is not None:
            kept = not bool(said)
            return Masks(function=function, distinct=distinct, equal=equal, truncated_kept=kept, declared=True)
        eos, pad = (*distinct, *equal)[0]
        rows = table(eos, pad)
        kept = bool(made(rows, eos, pad)[3].any())
        subject.measured["completions without an end of text"] = "in the loss" if kept else "masked"
        return Masks(function=function, distinct=distinct, equal=equal, truncated_kept=kept, declared=False)
    except (Unavailable, RaisedError) as error:
        return error


def _ids(subject: Subject, function: Function) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    takes_eos, takes_pad = function.takes("eos_id"), function.takes("pad_id")
    if takes_eos:
        return PAIRS, SAME
    eos, pad = _known(subject, "eos_id"), _known(subject, "pad_id")
    if subject.pipeline.tokenizer is not None:
        own = described(subject.pipeline.tokenizer, eos, pad)
        eos, pad = (own.eos if eos is None else eos), (own.pad if pad is None else pad)
    if eos is None:
        raise Unavailable("the mask takes no end of text, and none is declared", ('declare["eos_id"]',))
    if takes_pad:
        if pad is None:
            return ((eos, eos + 1),), ((eos, eos),)
        return (((eos, pad),), ()) if pad != eos else ((), ((eos, eos),))
    pad = eos if pad is None else pad
    return (((eos, pad),), ()) if pad != eos else ((), ((eos, eos),))


def _known(subject: Subject, name: str) -> int | None:
    value = subject.declared.get(name)
    if isinstance(value, list | tuple) and value:
        value = value[0]
    return value if isinstance(value, int) and not isinstance(value, bool) else None
