"""The user's scoring function through his own model: which output belongs to which token, and the logits it used."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rlprobe.recording.run import BoolArray, FloatArray, IntArray
from rlprobe.verifier.arrays import to_numpy
from rlprobe.verifier.function import Function, RaisedError, prepare
from rlprobe.verifier.subject import Subject, Unavailable

if TYPE_CHECKING:
    import torch

TOLERANCE = 1e-3  # nats; a float32 model that is batched otherwise is off by 1e-5
COARSE = 6e-2  # nats; the same of models in bfloat16 or float16
ROWS, TOKENS = 2, 7
LARGEST_VOCABULARY = 600  # above it, not every token is tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorer:
    """A scoring function with what was found out of it.

    Attributes:
        function: the user's, with its form of arrays.
        model: the module that it is called with where no other is named.
        vocabulary: number of token ids; 0 where it could not be told.
        zero_last: whether a full-width answer has its 0 at the end instead of the beginning.
    """

    function: Function
    model: "torch.nn.Module"
    vocabulary: int
    zero_last: bool

    @property
    def coarse(self) -> bool:
        """Whether the model computes in less than float32."""
        widths = [p.element_size() for p in self.model.parameters() if p.is_floating_point()]
        return bool(widths) and min(widths) < 4

    @property
    def tolerance(self) -> float:
        """Nats by which two ways to the same score may differ."""
        return COARSE if self.coarse else TOLERANCE

    def __call__(
        self, ids: IntArray, mask: BoolArray | None = None, *, model: object = None, keep: int = 0, **further: object
    ) -> FloatArray:
        """Log-probs [B,T-1] of all tokens but the first, or of the last `keep`.

        Raises:
            RaisedError: the function raised.
        """
        found = self.function(**self.arguments(ids, mask, model=model, keep=keep, **further))
        return self.inner(found, ids.shape[1])

    def arguments(
        self, ids: IntArray, mask: BoolArray | None = None, *, model: object = None, keep: int = 0, **further: object
    ) -> dict[str, object]:
        """Arguments by role, those that the function takes; one segment, all tokens valid unless said otherwise."""
        given: dict[str, object] = {
            "model": self.model if model is None else model,
            "ids": ids,
            "mask": np.ones(ids.shape, dtype=bool) if mask is None else mask,
            "completion_tokens": keep or ids.shape[1] - 1,
            "temperature": 1.0,
            "segments": np.ones(ids.shape, dtype=np.int64),
            "positions": np.arange(ids.shape[1])[None, :].repeat(len(ids), axis=0),
            **further,
        }
        return {role: one for role, one in given.items() if self.function.takes(role)}

    def inner(self, found: FloatArray, tokens: int) -> FloatArray:
        """An answer without the column that predicts nothing."""
        if found.ndim == 2 and found.shape[1] == tokens:
            return found[:, :-1] if self.zero_last else found[:, 1:]
        return found

    def ids(self, rng: np.random.Generator, rows: int = ROWS, tokens: int = TOKENS) -> IntArray:
        """Random token ids that the model knows; 0 to 2, the usual special ones, are left out where others are."""
        top = min(self.vocabulary or 4, 1000)
        return rng.integers(3 if top > 4 else 0, top, size=(rows, tokens))


def scorer(subject: Subject) -> Scorer:
    """The scoring function through the model, found out once.

    Raises:
        Unavailable: model or function is missing or of another kind, or answers with one number a sequence.
        RaisedError: it raised on a small valid batch.
    """
    found = subject.remember("scorer", lambda: _caught(subject))
    if isinstance(found, Exception):
        raise found
    assert isinstance(found, Scorer)
    return found


@contextmanager
def quiet(*modules: object) -> Iterator[None]:
    """The modules in evaluation mode, so that nothing is random; modes are put back."""
    torch = sys.modules.get("torch")
    real = [one for one in modules if torch is not None and isinstance(one, torch.nn.Module)]
    modes = [[(child, child.training) for child in one.modules()] for one in real]
    try:
        for one in real:
            one.eval()
        yield
    finally:
        for children in modes:
            for child, training in children:
                child.training = training


def seen_logits(scorer: Scorer, values: dict[str, object]) -> FloatArray | None:
    """The logits [B,T,V] that the model gave while the function scored; None where they cannot be told from outside."""
    given: list[object] = []
    handle = scorer.model.register_forward_hook(lambda _module, _inputs, output: given.append(output))
    try:
        scorer.function(**values)
    finally:
        handle.remove()
    return next((one for one in map(_logits, reversed(given)) if one is not None), None)


def _logits(output: object) -> FloatArray | None:
    try:
        return to_numpy(_tensor(output))
    except Unavailable:
        return None


def _caught(subject: Subject) -> object:
    try:
        return _found(subject)
    except Unavailable as reason:
        return reason
    except RaisedError as error:
        if subject.has("score"):
            return error
        return Unavailable(f"the model cannot be called with ids alone: {error.told}"[:200], ("score",))


def _found(subject: Subject) -> Scorer:
    model = subject.pipeline.model
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        raise Unavailable("the model is no torch module", ("model",))
    bound = subject.bound("score") if subject.has("score") else _plain(subject)
    bare = Scorer(function=bound, model=model, vocabulary=0, zero_last=False)
    rng = np.random.default_rng(11)
    ids = rng.integers(0, 3, size=(ROWS, TOKENS))
    with quiet(model):
        settled = bound.negotiated(bare.arguments(ids), lambda answer: to_numpy(answer).size > 0)
        bare = replace(bare, function=settled)
        answer = settled(**bare.arguments(ids))
        if answer.ndim != 2 or answer.shape[1] not in (TOKENS, TOKENS - 1):
            raise Unavailable(f"score: expected one log-prob a token, got the shape {list(answer.shape)}")
        logits = seen_logits(bare, bare.arguments(ids))
    vocabulary = logits.shape[-1] if logits is not None else _told_vocabulary(model)
    wide = answer.shape[1] == TOKENS
    return replace(bare, vocabulary=vocabulary, zero_last=bool(wide and not np.any(answer[:, -1])))


def _plain(subject: Subject) -> Function:
    """The textbook's score by a forward of the ids alone, where no scoring function was handed over."""
    import torch

    def score(model: "torch.nn.Module", ids: "torch.Tensor") -> "torch.Tensor":
        logits = _tensor(model(ids))
        return torch.log_softmax(logits[:, :-1], dim=-1).gather(-1, ids[:, 1:].unsqueeze(-1)).squeeze(-1)

    return prepare(score, "score", {}, subject.declared)


def _tensor(output: object) -> "torch.Tensor":
    import torch

    if isinstance(output, dict):
        output = output.get("logits")
    elif hasattr(output, "logits"):
        output = output.logits
    elif isinstance(output, tuple | list) and output:
        output = output[0]
    if not isinstance(output, torch.Tensor) or output.ndim != 3:
        raise Unavailable("a forward of the model gives no logits [B,T,V]", ("score",))
    return output


def _told_vocabulary(model: object) -> int:
    size = getattr(getattr(model, "config", None), "vocab_size", 0)
    return size if isinstance(size, int) else 0
