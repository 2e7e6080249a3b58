"""In which form the user's entropy comes (by token, by row, one number), and what it should be."""

from dataclasses import dataclass

import numpy as np

from rlprobe.recording.run import BoolArray, FloatArray
from rlprobe.verifier import inputs
from rlprobe.verifier.function import Function
from rlprobe.verifier.oracles import logprobs as oracle
from rlprobe.verifier.subject import Subject

ROWS, TOKENS, VOCABULARY = 3, 5, 7
LENGTHS = [5, 2, 4]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entropy:
    """An entropy function with its form.

    Attributes:
        function: the user's.
        form: "token", "token, shifted", "row ..." or the name of a mean over the mask.
    """

    function: Function
    form: str

    def __call__(self, logits: FloatArray, mask: BoolArray) -> FloatArray:
        """The function's answer.

        Raises:
            RaisedError: the function raised.
        """
        return self.function(**self.arguments(logits, mask))

    def arguments(self, logits: FloatArray, mask: BoolArray) -> dict[str, object]:
        """Arguments by role, those that the function takes."""
        given = {"logits": logits, "mask": mask, "temperature": 1.0}
        return {role: one for role, one in given.items() if self.function.takes(role)}

    def pair(self, logits: FloatArray, mask: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Answer and expectation as vectors, outside the mask left out."""
        seen = mask if self.function.takes("mask") else np.ones_like(mask)
        found, wanted = self(logits, mask), in_form(oracle.entropy(logits), seen, self.form)
        if self.form == "token":
            return found[seen], wanted[seen]
        if self.form == "token, shifted":
            return found[seen[:, 1:]], wanted[seen[:, 1:]]
        return found.reshape(-1), wanted.reshape(-1)


def in_form(entropies: FloatArray, mask: BoolArray, form: str) -> FloatArray:
    """Entropies [B,T] in a form."""
    if form == "token":
        return entropies
    if form == "token, shifted":
        return entropies[:, :-1]
    if form.startswith("row"):
        sums = (entropies * mask).sum(axis=1)
        return np.asarray(sums / mask.sum(axis=1) if form == "row mean" else sums)
    return np.array([oracle.means(entropies, mask)[form]])


def measured(subject: Subject) -> Entropy:
    """The function with its form; measured once.

    Raises:
        Unavailable, RaisedError: as for the slot's function.
    """
    found = subject.remember("entropy.measured", lambda: _measure(subject))
    assert isinstance(found, Entropy)
    subject.measured["entropy"] = found.form
    return found


def drawn(subject: Subject, name: str, *, sharpness: float = 1.0) -> tuple[FloatArray, BoolArray]:
    """Random logits [B,T,V] and a mask of unequal lengths."""
    logits = sharpness * inputs.logits(subject.rng(name), ROWS, TOKENS, VOCABULARY)
    return logits, inputs.mask(LENGTHS, TOKENS)


def _measure(subject: Subject) -> Entropy:
    function = subject.function("entropy")
    logits, mask = drawn(subject, "entropy.measure")
    bare = Entropy(function=function, form="token")
    found = bare(logits, mask)
    if found.shape == (ROWS, TOKENS):
        return bare
    if found.shape == (ROWS, TOKENS - 1):
        return Entropy(function=function, form="token, shifted")
    forms = ("row mean", "row sum") if found.size == ROWS else tuple(oracle.means(logits[..., 0], mask))
    candidates = [Entropy(function=function, form=form) for form in forms]
    return min(candidates, key=lambda one: float(np.abs(np.subtract(*one.pair(logits, mask))).max()))
