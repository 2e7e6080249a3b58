"""A preference loss as a curve over the margin, and which of the known losses that curve is.

margin m = (chosen - its reference) - (rejected - its reference), nats; beta and label smoothing are read off the curve.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.arrays import Values
from rlprobe.verifier.function import Function
from rlprobe.verifier.measure.slopes import Slopes, slopes_of, without_graph
from rlprobe.verifier.subject import Subject

PAIR = ("chosen_logprobs", "rejected_logprobs", "ref_chosen_logprobs", "ref_rejected_logprobs")
MARGINS = np.array([-40.0, -10.0, -2.0, 0.0, 2.0, 10.0, 40.0])  # nats, symmetric
NEAR = 4  # index of the smallest positive margin, where a logistic is not yet flat
EXACT = 1e-5  # relative to the largest value of the curve
ROWS = 2  # rows of the curve's batches
LARGEST_BETA = 100.0
HALVINGS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """A preference loss ready to be measured.

    Attributes:
        function: the user's function.
        slopes: how derivatives by the chosen log-probs are taken.
        by_row: whether it gives a number a row instead of one.
    """

    function: Function
    slopes: Slopes
    by_row: bool

    def value(self, values: Values) -> float:
        """The mean over rows where it gives one a row, else what it gives."""
        result = self.function(**self.arguments(values))
        return float(result.mean()) if self.by_row else float(result.reshape(-1)[0])

    def slope(self, values: Values, wrt: str) -> FloatArray:
        """Derivative [B] of the result's sum."""
        return self.slopes.slope(self.function, wrt, self.arguments(values))

    def arguments(self, values: Values) -> dict[str, object]:
        """The arguments that the loss takes."""
        return {role: value for role, value in values.items() if self.function.takes(role)}

    def referenced(self) -> bool:
        """Whether it takes the reference's log-probs of both sides."""
        return self.function.takes(PAIR[2]) and self.function.takes(PAIR[3])


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The loss over the margin.

    Attributes:
        name: "sigmoid", "hinge", "ipo", "kto" or "" where none fits.
        beta: its coefficient; nan where none fits.
        smoothing: label smoothing of the sigmoid loss.
        values: [M] loss at MARGINS.
        summed: whether rows are summed instead of averaged.
        scale: 2 where KTO's two sides are added instead of averaged.
        alone: whether KTO's sides are compared with nothing.
    """

    name: str
    beta: float
    smoothing: float
    values: FloatArray
    summed: bool
    scale: float = 1.0
    alone: bool = False

    @property
    def told(self) -> str:
        """In words."""
        if not self.name:
            return "no known preference loss"
        if self.smoothing < -EXACT:  # (1 - e, -e) over 1 - 2 e has the smoothing -e / (1 - 2 e)
            share = -self.smoothing / (1 - 2 * self.smoothing)
            return f"robust {self.name}, beta {self.beta:.4g}, label smoothing {share:.4g}"
        smooth = f", label smoothing {self.smoothing:.4g}" if abs(self.smoothing) > EXACT else ""
        return f"{self.name}, beta {self.beta:.4g}{smooth}"


def preference(subject: Subject) -> Preference:
    """The preference loss of the pipeline.

    Raises:
        Unavailable, RaisedError: as for `Subject.function`.
    """
    found = subject.remember("dpo", lambda: _prepared(subject))
    assert isinstance(found, Preference)
    return found


def curve(subject: Subject) -> Curve:
    """The curve of the pipeline's preference loss with its own settings."""
    found = subject.remember("dpo.curve", lambda: curve_of(preference(subject), {}))
    assert isinstance(found, Curve)
    subject.measured["preference loss"] = found.told
    return found


def curve_of(loss: Preference, settings: Mapping[str, object]) -> Curve:
    """The curve with some scalar arguments set."""
    values = np.array([loss.value({**at_margin(margin), **settings}) for margin in MARGINS])
    more = loss.value({**at_margin(MARGINS[NEAR], rows=2 * ROWS), **settings})
    base = values[NEAR]
    summed = not loss.by_row and abs(more - 2 * base) < abs(more - base)
    return fitted(values / ROWS if summed else values, summed=summed)


def at_margin(margin: float, rows: int = ROWS) -> dict[str, object]:
    """Pairs with that margin, half of it gained by the chosen side and half lost by the other."""
    return {
        PAIR[0]: np.full(rows, -10.0 + margin / 2),
        PAIR[1]: np.full(rows, -12.0 - margin / 2),
        PAIR[2]: np.full(rows, -10.0),
        PAIR[3]: np.full(rows, -12.0),
    }


def pairs(rng: np.random.Generator, rows: int = 5, *, spread: float = 2.0) -> dict[str, object]:
    """Random pairs whose four margins to the reference are all different."""
    reference = -rng.uniform(8.0, 20.0, size=(2, rows))
    policy = reference + spread * rng.uniform(-1.0, 1.0, size=(2, rows))
    return {PAIR[0]: policy[0], PAIR[1]: policy[1], PAIR[2]: reference[0], PAIR[3]: reference[1]}


def margins(values: Values) -> FloatArray:
    """Margin [B] of every pair."""
    chosen, rejected, ref_chosen, ref_rejected = (np.asarray(values[role]) for role in PAIR)
    return np.asarray((chosen - ref_chosen) - (rejected - ref_rejected))


def fitted(values: FloatArray, *, summed: bool = False) -> Curve:
    """The known loss that has these values at MARGINS."""
    for name, guess in GUESSES.items():
        for scale in (1.0, 2.0) if name.startswith("kto") else (1.0,):  # KTO's two sides, averaged or added
            beta, smoothing = guess(values / scale)
            if not (np.isfinite(beta) and beta > 0):
                continue
            expected = oracle(name, beta, smoothing)(MARGINS) * scale
            if np.abs(expected - values).max() <= EXACT * max(1.0, float(np.abs(values).max())):
                return Curve(
                    name=name.removesuffix("_alone"), beta=beta, smoothing=smoothing, values=values, summed=summed,
                    scale=scale, alone=name.endswith("_alone"),
                )  # fmt: skip
    return Curve(name="", beta=float("nan"), smoothing=0.0, values=values, summed=summed)


def oracle(name: str, beta: float, smoothing: float = 0.0) -> Callable[[FloatArray], FloatArray]:
    """The loss over the margin as its paper has it; KTO on pairs for margins split in halves, as `at_margin` does."""
    if name == "sigmoid":
        return lambda m: (1 - smoothing) * np.logaddexp(0, -beta * m) + smoothing * np.logaddexp(0, beta * m)
    if name == "hinge":
        return lambda m: np.maximum(0.0, 1 - beta * m)
    if name == "ipo":
        return lambda m: (m - 1 / (2 * beta)) ** 2
    if name == "kto":  # each side against the other's mean log-ratio, floored at 0
        return lambda m: 1 - (_logistic(beta * m / 2) + _logistic(beta * m)) / 2
    return lambda m: 1 - _logistic(beta * m / 2)  # KTO without that term


def _sigmoid(values: FloatArray) -> tuple[float, float]:
    """A loss plus its mirror image knows no smoothing and gives beta; their difference then gives the smoothing."""
    margin, total, apart = MARGINS[-1], values[-1] + values[0], values[-1] - values[0]
    beta = _root(lambda b: np.logaddexp(0, -b * margin) + np.logaddexp(0, b * margin) - total)
    return beta, (1 + apart / (beta * margin)) / 2 if beta > 0 else 0.0


def _hinge(values: FloatArray) -> tuple[float, float]:
    return float((values[0] - 1) / -MARGINS[0]), 0.0


def _ipo(values: FloatArray) -> tuple[float, float]:
    target = float((values[0] - values[-1]) / (4 * MARGINS[-1]))
    return 1 / (2 * target) if target else float("nan"), 0.0


def _kto(values: FloatArray) -> tuple[float, float]:
    return _root(lambda b: values[NEAR] - float(oracle("kto", b)(MARGINS[NEAR:])[0])), 0.0


def _kto_alone(values: FloatArray) -> tuple[float, float]:
    return _root(lambda b: values[NEAR] - float(oracle("kto_alone", b)(MARGINS[NEAR:])[0])), 0.0


GUESSES: Mapping[str, Callable[[FloatArray], tuple[float, float]]] = {
    "sigmoid": _sigmoid,
    "hinge": _hinge,
    "ipo": _ipo,
    "kto": _kto,
    "kto_alone": _kto_alone,
}


def _root(rising: Callable[[float], float]) -> float:
    """Where a function that rises with beta is zero; nan where it is not between 0 and LARGEST_BETA."""
    low, high = 0.0, LARGEST_BETA
    if not rising(low) <= 0 <= rising(high):
        return float("nan")
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return (low + high) / 2


def _logistic(x: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-np.logaddexp(0, -x)))


def _prepared(subject: Subject) -> Preference:
    function = subject.function("dpo_loss")
    values = pairs(subject.rng("dpo"))
    bare = {role: value for role, value in values.items() if function.takes(role)}
    function = without_graph(function, PAIR[0], bare)
    return Preference(
        function=function,
        slopes=slopes_of(function, PAIR[0], bare),
        by_row=function(**bare).size == len(margins(values)),
    )
