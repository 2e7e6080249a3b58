"""Key maps: one data table a framework, from foreign keys to canonical metrics.

Every module of this package that has a `MAP` is one; a new framework is one new file.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from rlprobe.importers.keymaps.key import KeyMap


@cache
def maps() -> tuple[KeyMap, ...]:
    """Every key map, in the order of their modules; the generic one is last."""
    found = [
        module.MAP
        for name in sorted(info.name for info in iter_modules(__path__))
        if hasattr(module := import_module(f"{__name__}.{name}"), "MAP")
    ]
    return tuple(sorted(found, key=lambda each: each.framework == ""))
