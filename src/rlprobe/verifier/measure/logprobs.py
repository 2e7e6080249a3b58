"""Which token each of the user's log-probs belongs to, at which temperature, and what it should be."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rlprobe.recording.run import FloatArray, IntArray
from rlprobe.verifier import inputs
from rlprobe.verifier.function import Function
from rlprobe.verifier.oracles import logprobs as oracle
from rlprobe.verifier.subject import Subject

# aligned: out[t] is of ids[t] under logits[t]; shifted: [B,T-1], out[t] is of ids[t+1] under logits[t];
# zero_first, zero_last: the same at full width, with a 0 where nothing is predicted.
Layout = Literal["aligned", "shifted", "zero_first", "zero_last"]
WIDE: tuple[Layout, ...] = ("aligned", "zero_first", "zero_last")
TOLERANCE = 1e-4  # nats for logits of usual size; float32 is within 1e-6, bfloat16 off by 1e-2
ROWS, TOKENS, VOCABULARY = 2, 5, 7


@dataclass(frozen=True, slots=True, kw_only=True)
class LogProbs:
    """A log-prob function with its layout and the temperature that it applies by itself.

    Attributes:
        function: the user's.
        layout: which output belongs to which token.
        temperature: what logits are divided by when none is handed over; 1 where the function takes one.
    """

    function: Function
    layout: Layout
    temperature: float

    def __call__(self, logits: FloatArray, ids: IntArray, temperature: float = 1.0) -> FloatArray:
        """The function's answer, [B,T] or [B,T-1].

        Raises:
            RaisedError: the function raised.
        """
        return self.function(**self.arguments(logits, ids, temperature))

    def arguments(self, logits: FloatArray, ids: IntArray, temperature: float = 1.0) -> dict[str, object]:
        """Arguments by role, those that the function takes; every position is valid."""
        given = {"logits": logits, "ids": ids, "temperature": temperature, "mask": np.ones(ids.shape, dtype=bool)}
        return {role: value for role, value in given.items() if self.function.takes(role)}

    def expected(self, logits: FloatArray, ids: IntArray, temperature: float = 1.0) -> FloatArray:
        """What the answer should be."""
        own = temperature if self.function.takes("temperature") else self.temperature
        return laid_out(logits, ids, self.layout, own)

    def off(self, values: Mapping[str, object], temperature: float = 1.0) -> float:
        """Largest difference in nats between answer and expectation; infinite where the answer is no number."""
        logits, ids = np.asarray(values["logits"], dtype=float), np.asarray(values["ids"], dtype=int)
        return distance(self(logits, ids, temperature), self.expected(logits, ids, temperature))


def laid_out(logits: FloatArray, ids: IntArray, layout: Layout, temperature: float = 1.0) -> FloatArray:
    """Log-probs in a layout."""
    if layout == "aligned":
        return oracle.chosen(logits, ids, temperature)
    picked = oracle.chosen(logits[:, :-1], ids[:, 1:], temperature)
    if layout == "shifted":
        return picked
    return np.pad(picked, ((0, 0), (1, 0)) if layout == "zero_first" else ((0, 0), (0, 1)))


def distance(found: FloatArray, expected: FloatArray) -> float:
    """Largest absolute difference; infinite for another shape or numbers that are not finite."""
    if found.shape != expected.shape or not np.isfinite(found).all():
        return float("inf")
    return float(np.abs(found - expected).max()) if found.size else 0.0


def drawn(subject: Subject, name: str, *, sharpness: float = 1.0, rows: int = ROWS) -> tuple[FloatArray, IntArray]:
    """Random logits [B,T,V] and ids [B,T] of a check."""
    rng = subject.rng(name)
    logits = sharpness * inputs.logits(rng, rows, TOKENS, VOCABULARY)
    return logits, inputs.token_ids(rng, rows, TOKENS, VOCABULARY)


def measured(subject: Subject) -> LogProbs:
    """The function with what it does; measured once.

    Raises:
        Unavailable, RaisedError: as for the slot's function.
    """
    found = subject.remember("logprobs.measured", lambda: measure(subject, subject.function("logprobs")))
    assert isinstance(found, LogProbs)
    subject.measured["log-probs"] = _TOLD[found.layout]
    if not found.function.takes("temperature"):
        subject.measured["log-prob temperature"] = round(found.temperature, 4)
    return found


def measure(subject: Subject, function: Function) -> LogProbs:
    """The layout and temperature that come nearest to the function's numbers."""
    logits, ids = drawn(subject, "logprobs.measure")
    bare = LogProbs(function=function, layout="aligned", temperature=1.0)
    found = bare(logits, ids)
    layouts: tuple[Layout, ...] = ("shifted",) if found.shape == (ROWS, TOKENS - 1) else WIDE
    candidates = [(one, temperature) for one in layouts for temperature in _temperatures(bare, one)]
    gaps = [_median_gap(found, laid_out(logits, ids, *candidate)) for candidate in candidates]
    layout, temperature = candidates[int(np.argmin(gaps))]
    return LogProbs(function=function, layout=layout, temperature=temperature)


def _median_gap(found: FloatArray, expected: FloatArray) -> float:
    gap = np.abs(found - expected) if found.shape == expected.shape else np.array([np.inf])
    return float(np.nan_to_num(gap, nan=np.inf).mean())


def _temperatures(bare: LogProbs, layout: Layout) -> list[float]:
    """1, and what the difference between two tokens' log-probs says: it is their logits' difference over T."""
    if bare.function.takes("temperature"):
        return [1.0]
    logits = np.zeros((1, TOKENS, VOCABULARY))
    logits[..., 1], logits[..., 2] = 1.0, 2.0
    low, high = (bare(logits, np.full((1, TOKENS), token)) for token in (1, 2))
    place = 1 if layout != "zero_last" else 0
    step = float(high[0, place] - low[0, place])
    return [1.0, 1.0 / step] if np.isfinite(step) and step > 0.02 else [1.0]


_TOLD = {
    "aligned": "position t scores ids[t] under logits[t]; the caller shifts",
    "shifted": "position t scores ids[t+1] under logits[t]",
    "zero_first": "position t scores ids[t] under logits[t-1]; 0 for the first",
    "zero_last": "position t scores ids[t+1] under logits[t]; 0 for the last",
}
