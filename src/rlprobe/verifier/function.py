"""One function of the user's, called with numpy arrays by role and answering in numpy; his exceptions are evidence."""

import inspect
import linecache
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.arrays import Convention, Values, conventions, convert, to_numpy
from rlprobe.verifier.binding import Binding, bind
from rlprobe.verifier.declared import Declared
from rlprobe.verifier.patience import LateError, limited
from rlprobe.verifier.roles import roles
from rlprobe.verifier.unwrapping import plain_function

STEP = 1e-6  # central differences; near the optimum for float64, Numerical Recipes 3rd ed., 5.7
PREFERRED = ("loss", "advantages", "log_probs", "logprobs", "entropy", "rewards")  # keys of a result that is a dict


class RaisedError(Exception):
    """The user's function raised on valid input.

    Attributes:
        slot: the function.
        told: "ValueError: ... (my_loss.py:12)".
        example: the arguments by role.
    """

    def __init__(self, slot: str, told: str, example: Values) -> None:
        super().__init__(f"{slot} raised {told}")
        self.slot = slot
        self.told = told
        self.example = dict(example)


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A bound function with the form in which it takes arrays.

    Attributes:
        slot: its place in the pipeline.
        target: the user's callable.
        binding: parameters to roles.
        convention: form of arrays; None until negotiated.
        by_token: whether advantages [B] are spread over the tokens before the call.
    """

    slot: str
    target: Callable[..., object]
    binding: Binding
    convention: Convention | None = None
    by_token: bool = False

    def takes(self, role: str) -> bool:
        """Whether a parameter plays the role."""
        return self.binding.takes(role)

    def __call__(self, **values: object) -> FloatArray:
        """The result as float64 numpy.

        Raises:
            RaisedError: the function raised, or gave back no numbers.
        """
        return self._numbers(self.raw(**values), values)

    def raw(self, **values: object) -> object:
        """The result as the function gives it; of a tuple the first, of a dict the one that its name says.

        Raises:
            RaisedError: the function raised.
        """
        return _main(self.whole(**values))

    def whole(self, **values: object) -> object:
        """Everything that the function gives back, tuples and dicts as they are.

        Raises:
            RaisedError: the function raised.
        """
        positional, keywords = self._arguments(values)
        return self._called(positional, keywords, values)

    def changed(self, **values: object) -> tuple[str, ...]:
        """Roles of the arrays that the function changed in place during one call.

        Raises:
            RaisedError: the function raised.
        """
        converted = self._converted(values)
        before = {role: _copied(value) for role, value in converted.items()}
        positional, keywords = self.binding.arrange(converted)
        self._called(positional, keywords, values)
        return tuple(role for role, value in converted.items() if not _same(before[role], value))

    def gradient(self, wrt: str, *, component: int | None = None, **values: object) -> FloatArray:
        """Derivative of the result (its sum, or one entry) by the argument of role `wrt`; zero if unconnected.

        Autograd where the function speaks torch and gives a graph, else central differences.

        Raises:
            RaisedError: the function raised.
        """
        found = self.autograd(wrt, component=component, **values)
        return self.differences(wrt, values, component=component) if found is None else found

    def autograd(self, wrt: str, *, component: int | None = None, **values: object) -> FloatArray | None:
        """The same by autograd alone; None where there is no graph to follow at all."""
        if self._convention().framework != "torch":
            return None
        import torch

        converted = self._converted(values)
        leaf = converted[wrt]
        if not isinstance(leaf, torch.Tensor) or not leaf.is_floating_point():
            return None
        leaf.requires_grad_()
        positional, keywords = self.binding.arrange(converted)
        with torch.enable_grad():
            result = _main(self._called(positional, keywords, values))
        if not isinstance(result, torch.Tensor) or not result.requires_grad:
            return None
        chosen = result.sum() if component is None else result.reshape(-1)[component]
        try:
            (found,) = torch.autograd.grad(chosen, leaf, allow_unused=True)
        except RuntimeError as error:
            raise RaisedError(self.slot, told(error, self.target), values) from error
        shape = np.asarray(values[wrt]).shape
        slope = np.zeros(shape) if found is None else to_numpy(found)
        return slope.sum(axis=-1) if slope.ndim > len(shape) else slope

    def differences(
        self, wrt: str, values: Values, *, component: int | None = None, step: float | None = None
    ) -> FloatArray:
        """The same by central differences, one call pair an entry."""
        width = step or (STEP if not self._convention().single else 1e-3)
        base = np.asarray(values[wrt], dtype=np.float64)
        slope = np.zeros(base.size)
        for index in range(base.size):
            sides = []
            for sign in (1.0, -1.0):
                moved = base.reshape(-1).copy()
                moved[index] += sign * width
                result = self(**{**values, wrt: moved.reshape(base.shape)}).reshape(-1)
                sides.append(float(result.sum() if component is None else result[component]))
            slope[index] = (sides[0] - sides[1]) / (2 * width)
        return slope.reshape(base.shape)

    def takes_tensor(self, role: str) -> bool:
        """Whether the argument of a role is handed over as a torch tensor."""
        annotation = next((one.annotation for one in self.binding.bound if one.role == role), "")
        handed = convert(np.zeros(1), self._convention(), kind="float", annotation=annotation)
        return type(handed).__module__.partition(".")[0] == "torch"

    def negotiated(self, trial: Values, accepts: Callable[[object], bool]) -> "Function":
        """The same function with the first form of arrays that it takes without an error on a trial input.

        Raises:
            RaisedError: it takes none; the error is that of the most likely form.
        """
        first: RaisedError | None = None
        for convention in conventions(self.target):
            if self.binding.makes and convention.framework not in ("torch", "numpy"):
                continue  # a model speaks tensors
            candidate = replace(self, convention=convention)
            try:
                if accepts(candidate.raw(**trial)):
                    return replace(candidate, binding=candidate.binding.settled())
                error = RaisedError(
                    self.slot, "no exception, but a result of another kind or shape than asked for", trial
                )
            except RaisedError as raised:
                error = raised
            first = first or error
        assert first is not None  # conventions are never empty
        raise first

    @property
    def where(self) -> str:
        """File and line of the function; "" where it has none."""
        return location(self.target)

    def _convention(self) -> Convention:
        return self.convention or conventions(self.target)[0]

    def _arguments(self, values: Values) -> tuple[list[object], dict[str, object]]:
        return self.binding.arrange(self._converted(values))

    def _converted(self, values: Values) -> dict[str, object]:
        kinds = {one.name: one.kind for one in roles(self.slot)}
        if self.by_token:
            values = {**values, "advantages": _spread(values)}
        annotations = {one.role: one.annotation for one in self.binding.bound}
        return {
            role: convert(value, self._convention(), kind=kinds.get(role, ""), annotation=annotations.get(role, ""))
            for role, value in values.items()
        }

    def _called(self, positional: list[object], keywords: dict[str, object], values: Values) -> object:
        def called() -> object:
            result = self.target(*positional, **keywords)
            return _awaited(result) if inspect.iscoroutine(result) else result

        try:
            result = limited(called, slot=self.slot, target=self.target)
        except Exception as error:
            raise RaisedError(self.slot, told(error, self.target), values) from error
        return result

    def _numbers(self, result: object, values: Values) -> FloatArray:
        try:
            return to_numpy(result)
        except TypeError as error:
            raise RaisedError(self.slot, f"no exception, but {error}", values) from error


def prepare(target: object, slot: str, given_map: Mapping[str, object], declared: Declared) -> Function:
    """A user's callable with its parameters bound.

    Raises:
        Unbindable: a required parameter has no role.
        TypeError: it is not callable.
    """
    if not callable(target):
        raise TypeError(f"{slot}: expected a function, got {type(target).__name__}.")
    return Function(slot=slot, target=target, binding=bind(target, slot, given_map, declared))


def location(target: object) -> str:
    """ "file.py:12" of a callable; "" where it has none."""
    plain = plain_function(getattr(target, "stands_for", target))
    return "" if plain is None else f"{plain.__code__.co_filename}:{plain.__code__.co_firstlineno}"


def _spread(values: Values) -> object:
    advantages, logprobs = np.asarray(values["advantages"]), np.asarray(values["logprobs"])
    return advantages if advantages.ndim == 2 else np.repeat(advantages[:, None], logprobs.shape[1], axis=1)


def _copied(value: object) -> FloatArray | None:
    """The numbers of an array as they are now; None for what is no array."""
    if isinstance(value, list) or hasattr(value, "shape"):
        return np.array(to_numpy(value))
    return None


def _same(before: FloatArray | None, value: object) -> bool:
    return before is None or np.array_equal(before, to_numpy(value), equal_nan=True)


def _main(result: object) -> object:
    if isinstance(result, Mapping):
        for name in PREFERRED:
            if name in result:
                return result[name]
        return next(iter(result.values()), None)
    if hasattr(result, "loss"):
        return result.loss
    if isinstance(result, tuple):
        return result[0] if result else None
    return result


def _awaited(coroutine: object) -> object:
    import asyncio

    return asyncio.run(coroutine)  # type: ignore[arg-type]  # inspect.iscoroutine told it is one


def told(error: Exception, target: object) -> str:
    """The error in one line with the user's own line, not ours."""
    kind = "" if isinstance(error, LateError) else f"{type(error).__name__}: "
    message = " ".join(f"{kind}{error}".split())[:200]
    place = stood(error, target)
    return f"{message} ({place})" if place else message


def stood(error: BaseException, target: object = None) -> str:
    """The user's line that an error came from, "my_loss.py:12: x = 1 / 0"; "" where none is his."""
    home = location(target).rpartition(":")[0]
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == home] or [f for f in frames if "rlprobe" not in f.filename]
    if not own:
        return ""
    line = (linecache.getline(own[-1].filename, own[-1].lineno or 0)).strip()[:80]
    return f"{own[-1].filename}:{own[-1].lineno}{': ' + line if line else ''}"
