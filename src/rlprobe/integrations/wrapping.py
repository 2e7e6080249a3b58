"""Wrapping somebody else's methods, so that the originals run as ever and hooks look on. Needs no package."""

import functools
from collections.abc import Callable

from rlprobe.integrations.guard import HookGuard

Before = Callable[..., object]
After = Callable[..., None]


class Wraps:
    """The wrapped methods of instances, classes or modules; `undo` puts every original back.

    Args:
        guard: what every hook runs under.
    """

    def __init__(self, guard: HookGuard) -> None:
        self._guard = guard
        self._undo: list[Callable[[], None]] = []
        self.missing: list[str] = []

    def around(self, owner: object, name: str, *, before: Before | None = None, after: After | None = None) -> None:
        """Call `before(*arguments)` and `after(token, result, *arguments)` around a method or function of the owner.

        Around a method of a class the first argument is the instance. The original is called exactly once with what
        it was given, and what it raises passes through. A method that this version lacks is noted in `missing`.
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
        """Set an attribute, to be put back by `undo`."""
        had, old = name in vars(owner), vars(owner).get(name)
        setattr(owner, name, value)
        self._undo.append(lambda: setattr(owner, name, old) if had else delattr(owner, name))

    def listen(self, module: object, hook: Callable[[object, object, object], None]) -> None:
        """Call `hook(module, inputs, output)` after each forward pass of a torch module."""
        guard = self._guard

        def heard(it: object, inputs: object, output: object) -> None:
            with guard("after forward"):
                hook(it, inputs, output)

        self._undo.append(module.register_forward_hook(heard).remove)  # type: ignore[attr-defined]  # torch is not there when types are checked

    def undo(self) -> None:
        """Put every original back."""
        while self._undo:
            self._undo.pop()()
