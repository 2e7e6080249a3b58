"""Wrapping methods of one trainer instance, so that the originals run as ever and hooks look on."""

import functools
import inspect
import time
from collections.abc import Callable

import numpy as np

from rlprobe.integrations.guard import HookGuard
from rlprobe.recording.run import BoolArray

Before = Callable[..., object]
After = Callable[..., None]


class Wraps:
    """The wrapped methods of one attachment; `undo` puts every original back.

    Args:
        guard: what every hook runs under.
    """

    def __init__(self, guard: HookGuard) -> None:
        self._guard = guard
        self._undo: list[Callable[[], None]] = []
        self.missing: list[str] = []

    def around(self, owner: object, name: str, *, before: Before | None = None, after: After | None = None) -> None:
        """Call `before(*arguments)` and `after(token, result, *arguments)` around a method of an instance.

        The original is called exactly once with what it was given, and what it raises passes through. A method that
        this version of the trainer lacks is noted in `missing`.
        """
        original = getattr(owner, name, None)
        if original is None:
            self.missing.append(name)
            return
        guard = self._guard

        @functools.wraps(original)
        def wrapper(*args: object, **kwargs: object) -> object:
            token = None
            if before is not None:
                with guard(f"before {name}"):
                    token = before(*args, **kwargs)
            result = original(*args, **kwargs)
            if after is not None:
                with guard(f"after {name}"):
                    after(token, result, *args, **kwargs)
            return result

        self.replace(owner, name, wrapper)

    def replace(self, owner: object, name: str, value: object) -> None:
        """Set an instance attribute, to be put back by `undo`."""
        had, old = name in vars(owner), vars(owner).get(name)
        setattr(owner, name, value)
        self._undo.append(lambda: setattr(owner, name, old) if had else delattr(owner, name))

    def undo(self) -> None:
        """Put every original back."""
        while self._undo:
            self._undo.pop()()


class RewardWatch:
    """What one rollout's reward functions received and returned; filled by the wrapped functions.

    Asynchronous functions run in another thread; each function writes its own keys only.
    """

    def __init__(self) -> None:
        self.received: dict[str, list[object]] = {}
        self.missing: dict[str, BoolArray] = {}
        self.seconds: dict[str, float] = {}

    def clear(self) -> None:
        """Forget the last rollout."""
        self.received, self.missing, self.seconds = {}, {}, {}

    def called(self, name: str, completions: object) -> None:
        """Keep what the function was handed: a copy of the list, since functions may change it."""
        if isinstance(completions, list):
            self.received[name] = list(completions)

    def returned(self, name: str, rewards: object, seconds: float) -> None:
        """Keep which samples got None, and the time it took."""
        self.seconds[name] = seconds
        if isinstance(rewards, list | tuple):
            self.missing[name] = np.array([reward is None for reward in rewards], dtype=bool)


def watched(function: object, name: str, watch: RewardWatch, guard: HookGuard) -> object:
    """A reward function that tells the watch what it received and returned.

    A reward model (a module) and what cannot be called are handed back as they are. An asynchronous function stays
    asynchronous, since the trainer asks for that.
    """
    if not callable(function) or hasattr(function, "parameters"):
        return function

    def enter(kwargs: dict[str, object]) -> float:
        with guard("before reward function"):
            watch.called(name, kwargs.get("completions"))
        return time.perf_counter()

    def leave(result: object, started: float) -> None:
        with guard("after reward function"):
            watch.returned(name, result, time.perf_counter() - started)

    if _asynchronous(function):

        async def asynchronous(*args: object, **kwargs: object) -> object:
            started = enter(kwargs)
            result = await function(*args, **kwargs)
            leave(result, started)
            return result

        return _named(asynchronous, function)

    def synchronous(*args: object, **kwargs: object) -> object:
        started = enter(kwargs)
        result = function(*args, **kwargs)
        leave(result, started)
        return result

    return _named(synchronous, function)


def _asynchronous(function: object) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004  # the class's __call__ may be async


def _named(wrapper: Callable[..., object], function: object) -> Callable[..., object]:
    """Carry over what a function is known by; callable objects and partials have no __name__ to copy."""
    return functools.wraps(function)(wrapper) if inspect.isroutine(function) else wrapper
