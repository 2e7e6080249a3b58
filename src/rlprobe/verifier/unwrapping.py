"""The function behind a callable: through partials, decorators, modules with a forward, and objects with a call."""

import functools
import inspect
from collections.abc import Callable

DEEPEST = 16  # wrappers one in the other; more is a cycle


def plain_function(target: object) -> Callable[..., object] | None:
    """The function whose code runs in the end; None where it has no Python code (a built-in)."""
    found = target
    for _ in range(DEEPEST):
        if isinstance(found, functools.partial):
            found = found.func
        elif hasattr(found, "__wrapped__"):
            found = found.__wrapped__
        elif inspect.ismethod(found):
            found = found.__func__
        elif inspect.isfunction(found):
            return found
        elif is_module(found):
            found = found.forward  # type: ignore[attr-defined]  # a torch module has one
        elif not isinstance(found, type) and callable(found):
            found = vars(type(found)).get("__call__")
        else:
            return None
    return None


def is_module(target: object) -> bool:
    """Whether the callable is a torch module: what it takes, its `forward` says."""
    return not isinstance(target, type) and callable(getattr(target, "forward", None)) and hasattr(target, "parameters")


def parameters_of(target: Callable[..., object]) -> list[inspect.Parameter]:
    """Parameters of the callable.

    Raises:
        TypeError, ValueError: it has no readable signature.
    """
    read = target.forward if is_module(target) else target  # type: ignore[attr-defined]  # a torch module has one
    return list(inspect.signature(read).parameters.values())
