"""Watching the reward functions of one trainer: what they received and returned."""

import functools
import inspect
import time
from collections.abc import Callable

import numpy as np

from rlprobe.integrations.guard import HookGuard
from rlprobe.integrations.wrapping import Wraps as Wraps
from rlprobe.recording.run import BoolArray


class RewardWatch:
    """What one rollout's reward functions received and returned; filled by the wrapped functions.

    Asynchronous functions run in another thread; each function writes its own keys only.
    """

    def __init__(self) -> None:
        self.received: dict[str, list[object]] = {}
        self.rewards: dict[str, list[object]] = {}
        self.missing: dict[str, BoolArray] = {}
        self.seconds: dict[str, float] = {}

    def clear(self) -> None:
        """Forget the last rollout."""
        self.received, self.rewards, self.missing, self.seconds = {}, {}, {}, {}

    def called(self, name: str, completions: object) -> None:
        """Keep what the function was handed: a copy of the list, since functions may change it."""
        if isinstance(completions, list):
            self.received[name] = list(completions)

    def returned(self, name: str, rewards: object, seconds: float) -> None:
        """Keep what it gave, which samples got None, and the time it took."""
        self.seconds[name] = seconds
        if isinstance(rewards, list | tuple):
            self.rewards[name] = list(rewards)
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
