"""The pipeline under test: every slot bound and its form of arrays found out once, on first use."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier import trials
from rlprobe.verifier.binding import Unbindable
from rlprobe.verifier.declared import Declared, declared
from rlprobe.verifier.function import Function, RaisedError, prepare
from rlprobe.verifier.grouping import Advantages, arranged
from rlprobe.verifier.pipeline import Pipeline
from rlprobe.verifier.telling import SETTINGS


class Unavailable(Exception):
    """A slot that cannot be put to the test; the message says why, `missing` what to hand over."""

    def __init__(self, reason: str, missing: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.missing = missing


class Subject:
    """A Pipeline ready to be called with numpy arrays by role.

    Attributes:
        pipeline: what the user handed over.
        declared: canonical settings.
        seed: base of every check's random numbers.
        measured: what was found out of the code's conventions so far, by name; told in the report.
    """

    def __init__(self, pipeline: Pipeline, *, seed: int = 0) -> None:
        self.pipeline = pipeline
        self.declared: Declared = declared(pipeline.config, pipeline.declare)
        self.seed = seed
        self.measured: dict[str, object] = {}
        self._prepared: dict[str, Function | Exception] = {}
        self._advantages: Advantages | None = None
        self._remembered: dict[str, object] = {}

    def has(self, slot: str) -> bool:
        """Whether the slot was filled; a loss that takes returns has the critic's loss inside."""
        if getattr(self.pipeline, slot, None) is not None:
            return True
        return slot == "value_loss" and self.takes("loss", "values") and self.takes("loss", "returns")

    def takes(self, slot: str, role: str) -> bool:
        """Whether the slot was filled with a function that takes the role."""
        if not self.has(slot):
            return False
        try:
            return self.bound(slot).takes(role)
        except (Unavailable, RaisedError):
            return False

    def bound(self, slot: str) -> Function:
        """The function of a slot with its parameters bound, before any call.

        Raises:
            Unavailable: nothing was handed over, or a parameter's role is not known.
        """
        if slot not in self._prepared:
            self._prepared[slot] = self._prepare(getattr(self.pipeline, slot, None), slot)
        found = self._prepared[slot]
        if isinstance(found, Unbindable | TypeError):
            raise Unavailable(str(found))
        if isinstance(found, Exception):
            raise found
        return found

    def function(self, slot: str) -> Function:
        """The function of a slot, ready to be called.

        Raises:
            Unavailable: nothing was handed over, or a parameter's role is not known.
            RaisedError: it raised on a small valid input.
        """
        found = self.bound(slot)
        if found.convention is None:
            try:
                found = _settled(found)
            except RaisedError as error:
                if found.takes(SETTINGS) and not self.pipeline.config:
                    why = f"{slot} reads settings that nobody handed over, and raises {error.told}"
                    self._prepared[slot] = Unavailable(why, ("config",))
                    raise Unavailable(why, ("config",)) from error
                self._prepared[slot] = error
                raise
            self._prepared[slot] = found
        return found

    def alternative(self, slot: str) -> Function:
        """The second implementation of a slot, ready to be called.

        Raises:
            Unavailable: there is none.
            RaisedError: it raised on a small valid input.
        """
        return _settled(self.second(slot))

    def second(self, slot: str) -> Function:
        """The second implementation of a slot with its parameters bound, before any call.

        Raises:
            Unavailable: there is none, or a parameter's role is not known.
        """
        given = self.pipeline.alternatives.get(slot)
        if given is None:
            raise Unavailable(f"no second implementation of {slot} was handed over", (f'alternatives["{slot}"]',))
        prepared = self._prepare(given, slot)
        if isinstance(prepared, Exception):
            raise Unavailable(str(prepared))
        return prepared

    def advantages(self) -> Advantages:
        """The advantage function as (rewards[N], group_size) -> [N].

        Raises:
            Unavailable, RaisedError: as for `function`.
        """
        if self._advantages is None:
            size = self.declared.number("group_size")
            self._advantages = arranged(self.bound("advantages"), int(size) if size and size > 1 else None)
        return self._advantages

    def rewards(self) -> tuple[Callable[..., object], ...]:
        """The reward functions as handed over.

        Raises:
            Unavailable: there is none.
        """
        given = self.pipeline.reward
        if given is None:
            raise Unavailable("no reward function was handed over", ("reward",))
        listed = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
        if not all(callable(one) for one in listed):
            raise Unavailable("reward: expected a function or a list of functions")
        return listed

    def remember(self, name: str, make: Callable[[], object]) -> object:
        """A value that several checks need, made once a verification."""
        if name not in self._remembered:
            self._remembered[name] = make()
        return self._remembered[name]

    def rng(self, name: str) -> np.random.Generator:
        """Random numbers of a check: the same for the same seed and id, whatever ran before."""
        return np.random.default_rng([self.seed, *name.encode()])

    def _prepare(self, target: object, slot: str) -> Function | Exception:
        if target is None:
            return Unavailable(f"{slot} was not handed over", (slot,))
        try:
            return prepare(target, slot, self.pipeline.map, self.declared)
        except (Unbindable, TypeError) as error:
            return error


def scalar(result: FloatArray) -> float:
    """The only entry of a result; its mean where it has several."""
    return float(result.reshape(-1)[0]) if result.size == 1 else float(result.mean())


def shown(value: object, limit: int = 6) -> str:
    """A value in one short line, arrays with their first entries."""
    if isinstance(value, np.ndarray):
        flat = value.reshape(-1) + 0  # no -0
        told = ", ".join(f"{one:.6g}" if value.dtype.kind == "f" else str(one) for one in flat[:limit])
        return f"[{told}{', ...' if flat.size > limit else ''}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _settled(function: Function) -> Function:
    arguments, accepts = trials.trial(function.slot)
    own = {role: value for role, value in arguments.items() if function.takes(role)}
    tried = [function]
    if function.slot == "loss" and function.binding.makes:
        # Code that works on whole rows has as many scores as mask columns, one less than tokens, or one less than both.
        for wide in (False, True):
            tried.append(replace(function, binding=replace(function.binding, prompt=1, wide=wide)))
    if function.slot == "loss" and "advantages" in own:  # per-token losses want an advantage for every token
        tried += [replace(one, by_token=True) for one in tried]
    first: RaisedError | None = None
    for one in tried:
        try:
            return one.negotiated(own, accepts)
        except RaisedError as error:
            first = first or error
    assert first is not None  # one at least was tried
    raise first
