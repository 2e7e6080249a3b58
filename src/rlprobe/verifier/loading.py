"""The user's code by name: `path.py::make`, `package.module:function`. It is imported, as his own program would."""

import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlprobe.verifier.pipeline import Pipeline


class Unloadable(ValueError):
    """A name that leads to nothing; the message says where it ended."""


def target(name: str) -> object:
    """The object that a name leads to; a function that takes nothing and is named in a target is called for it.

    Raises:
        Unloadable: the file, the module or the attribute is not there, or importing it raised.
    """
    found = attribute(name)
    from rlprobe.verifier.pipeline import Pipeline

    if isinstance(found, Pipeline) or hasattr(found, "model"):
        return found
    if not callable(found):
        raise Unloadable(
            f"{name}: expected a Pipeline, a trainer or a function that makes one, got {type(found).__name__}."
        )
    try:
        return found()
    except Exception as error:
        raise Unloadable(f"{name}: calling it raised {type(error).__name__}: {_line(error)}") from error


def attribute(name: str) -> object:
    """The attribute of a module that a name leads to.

    Raises:
        Unloadable: as for `target`.
    """
    place, separator, attribute_name = name.rpartition("::") if "::" in name else name.rpartition(":")
    if not separator or not place or not attribute_name:
        raise Unloadable(f"{name}: expected path.py::name or package.module:name.")
    found: object = _module(place)
    for part in attribute_name.split("."):
        if not hasattr(found, part):
            raise Unloadable(f"{name}: {place} has no {part!r}.")
        found = getattr(found, part)
    return found


def _module(place: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return _from_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except Unloadable:
        raise
    except BaseException as error:  # a module may do anything while it is imported, exiting among it
        if isinstance(error, KeyboardInterrupt):
            raise
        raise Unloadable(f"{place}: importing it raised {type(error).__name__}: {_line(error)}") from error


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise Unloadable(f"{path}: no such file.")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as `python path.py` would have it
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise Unloadable(f"{path}: not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]


def pipeline(functions: Mapping[str, str], declare: Mapping[str, object]) -> "Pipeline":
    """A Pipeline of functions by name.

    Raises:
        Unloadable: as for `target`.
    """
    from rlprobe.verifier.pipeline import Pipeline

    found = {slot: attribute(name) for slot, name in functions.items()}
    return Pipeline(**found, declare=declare)  # type: ignore[arg-type]  # slots take any object
