"""Calling back when a module has been imported, without importing it.

Runs at the start of every process under `rlprobe run`, so it needs nothing but the standard library's core. Nothing of
it is left on a module: the loader that Python chose loads it, and gets back what was changed on it before it does.
"""

import sys
from _thread import get_ident
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

Callback = Callable[[ModuleType], None]

_waiting: dict[str, list[Callback]] = {}  # module -> whoever waits for it
_asking: set[tuple[int, str]] = set()  # (thread, module) whose spec is being looked for


def when_imported(name: str, callback: Callback) -> None:
    """Call back with the module: at once when it has been imported, else as soon as it has run."""
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        _call(callback, module)
        return
    _waiting.setdefault(name, []).append(callback)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def forget(callback: Callback) -> None:
    """Wait no longer."""
    for name, callbacks in list(_waiting.items()):
        if callback in callbacks:
            callbacks.remove(callback)
        if not callbacks:
            del _waiting[name]
    _rest()


def _rest() -> None:
    """Leave Python's finders to themselves while nobody waits."""
    if not _waiting and _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)


def _call(callback: Callback, module: ModuleType) -> None:
    """Call back; the import that is going on is somebody's training program's, and goes on whatever happens here."""
    try:
        callback(module)
    except Exception as error:
        import logging

        told = "rlprobe: %s is not recorded (%s: %s); the program goes on"
        logging.getLogger("rlprobe").warning(told, module.__name__, type(error).__name__, error)


class _Finder:
    """Asks the other finders for a module that somebody waits for, and looks on while its loader runs it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        asked = (get_ident(), name)
        if name not in _waiting or asked in _asking:
            return None
        _asking.add(asked)
        try:
            spec = _first_spec(name, path, target)
        finally:
            _asking.discard(asked)
        if spec is not None and spec.loader is not None and not isinstance(spec.loader, type):
            _look_on(spec.loader, name)
        return spec


_FINDER = _Finder()


def _first_spec(name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    for finder in list(sys.meta_path):
        if finder is not _FINDER and hasattr(finder, "find_spec"):
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
    return None


def _look_on(loader: object, name: str) -> None:
    original = getattr(loader, "exec_module", None)
    if original is None:
        return

    def exec_module(module: ModuleType) -> None:
        vars(loader).pop("exec_module", None)
        original(module)
        for callback in _waiting.pop(name, []):
            _call(callback, module)
        _rest()

    try:
        loader.exec_module = exec_module  # type: ignore[attr-defined]  # a loader that takes no attribute is left alone
    except (AttributeError, TypeError):
        return
