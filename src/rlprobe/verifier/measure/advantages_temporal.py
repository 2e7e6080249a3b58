"""The user's GAE function by its own numbers: discount, lambda, whether it whitens, and what it should have given."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rlprobe.recording.run import BoolArray, FloatArray
from rlprobe.verifier.function import Function
from rlprobe.verifier.measure.advantages import TOLERANCE, relative
from rlprobe.verifier.oracles import advantages as oracle
from rlprobe.verifier.subject import Subject

USUAL_GAMMAS = (1.0, 0.99, 0.95, 0.9)
USUAL_LAMBDAS = (0.95, 1.0, 0.9, 0.97, 0.98, 0.99, 0.0)
PAIRS = ((1.0, 1.0), (0.9, 0.7), (0.99, 0.95), (0.8, 0.0), (1.0, 0.5))
ROWS, TOKENS = 3, 6
JUNK = 7.0  # stands in padding; far from every usual value, and finite


@dataclass(frozen=True, slots=True, kw_only=True)
class Gae:
    """A GAE function with its measured constants.

    Attributes:
        function: the user's.
        whitens: whether the result is normalised before it is given back.
        gamma, lam: constants in force where the function takes none; None where it takes them.
    """

    function: Function
    whitens: bool
    gamma: float | None
    lam: float | None

    def pairs(self) -> tuple[tuple[float, float], ...]:
        """Pairs of discount and lambda that can be tried; constants stand in every pair."""
        tried = []
        for gamma, lam in PAIRS:
            pair = (gamma if self.gamma is None else self.gamma, lam if self.lam is None else self.lam)
            if pair not in tried:
                tried.append(pair)
        return tuple(tried)

    def __call__(self, values: Mapping[str, object], gamma: float, lam: float) -> FloatArray:
        """Advantages [B,T].

        Raises:
            RaisedError: the function raised.
        """
        return self.function(**self.arguments(values, gamma, lam))

    def arguments(self, values: Mapping[str, object], gamma: float, lam: float) -> dict[str, object]:
        """Arguments by role, those that the function takes."""
        given = {**values, "gamma": gamma, "lam": lam}
        return {role: value for role, value in given.items() if self.function.takes(role)}

    def off(self, values: Mapping[str, object], gamma: float, lam: float) -> float:
        """Difference on the mask to what the defining sum gives."""
        wanted = expected(values, gamma, lam)
        mask = np.asarray(values.get("mask", np.ones_like(wanted)), dtype=bool)
        return self.gap(self(values, gamma, lam), wanted, mask)

    def gap(self, found: FloatArray, expected: FloatArray, mask: BoolArray) -> float:
        """Difference on the mask, relative to the largest expected; after whitening both where the function whitens."""
        if found.shape != expected.shape or not np.isfinite(found[mask]).all():
            return float("inf")
        if not self.whitens:
            return relative(found[mask], expected[mask])
        wanted = [oracle.whitened(expected, mask, ddof=ddof)[mask] for ddof in (0, 1)]
        return min(relative(found[mask], one) for one in wanted)


def episode(rng: np.random.Generator, *, rows: int = ROWS, tokens: int = TOKENS) -> dict[str, object]:
    """Full rows of random rewards and values; nothing truncated, nothing done early."""
    return {
        "rewards": rng.normal(size=(rows, tokens)),
        "values": rng.normal(size=(rows, tokens)),
        "mask": np.ones((rows, tokens), dtype=bool),
        "truncated": np.zeros(rows, dtype=bool),
        "last_values": np.zeros(rows),
        "dones": np.zeros((rows, tokens), dtype=bool),
    }


def expected(values: Mapping[str, object], gamma: float, lam: float) -> FloatArray:
    """Advantages [B,T] by the defining sum over each row's valid tokens; 0 elsewhere."""
    rewards, critic = np.asarray(values["rewards"], dtype=float), np.asarray(values["values"], dtype=float)
    mask = np.asarray(values.get("mask", np.ones_like(rewards)), dtype=bool)
    last = np.asarray(values.get("last_values", np.zeros(len(rewards))), dtype=float)
    result = np.zeros_like(rewards)
    for row, kept in enumerate(mask):
        result[row, kept] = oracle.gae(rewards[row, kept], critic[row, kept], gamma, lam, last_value=float(last[row]))
    return result


def measured(subject: Subject) -> Gae:
    """The function with what it does; measured once.

    Raises:
        Unavailable, RaisedError: as for the slot's function.
    """
    found = subject.remember("gae.measured", lambda: measure(subject, subject.function("gae")))
    assert isinstance(found, Gae)
    return found


def measure(subject: Subject, function: Function) -> Gae:
    """A GAE function with its constants, those of impulses where it is linear, else the usual pair that fits best."""
    values = episode(subject.rng("gae"))
    plain = Gae(function=function, whitens=False, gamma=None, lam=None)
    once = plain(values, 0.9, 0.7)
    thrice = plain(_scaled(values, 3.0), 0.9, 0.7)
    whitens = relative(thrice, once) < TOLERANCE
    takes_gamma, takes_lam = function.takes("gamma"), function.takes("lam")
    if takes_gamma and takes_lam:
        return Gae(function=function, whitens=whitens, gamma=None, lam=None)
    gamma, lam = _nearest(plain, values, once) if whitens else _from_impulses(plain)
    return Gae(function=function, whitens=whitens, gamma=None if takes_gamma else gamma, lam=None if takes_lam else lam)


def _scaled(values: Mapping[str, object], factor: float) -> dict[str, object]:
    return {**values, **{name: factor * np.asarray(values[name]) for name in ("rewards", "values", "last_values")}}


def _from_impulses(gae: Gae) -> tuple[float, float]:
    """Discount and lambda from a single reward of 1 and a single value of 1 on the third token."""
    empty = episode(np.random.default_rng(0), rows=1)
    still = {**empty, "rewards": np.zeros((1, TOKENS)), "values": np.zeros((1, TOKENS))}
    impulse = np.zeros((1, TOKENS))
    impulse[0, 2] = 1.0
    carried = float(gae({**still, "rewards": impulse}, 0.9, 0.7)[0, 1])
    bootstrapped = float(gae({**still, "values": impulse}, 0.9, 0.7)[0, 1])
    gamma = carried + bootstrapped
    return gamma, carried / gamma if gamma else 0.0


def _nearest(gae: Gae, values: Mapping[str, object], found: FloatArray) -> tuple[float, float]:
    mask = np.asarray(values["mask"], dtype=bool)
    whitening = Gae(function=gae.function, whitens=True, gamma=None, lam=None)
    tried = [(gamma, lam) for gamma in USUAL_GAMMAS for lam in USUAL_LAMBDAS]
    return min(tried, key=lambda pair: whitening.gap(found, expected(values, *pair), mask))
