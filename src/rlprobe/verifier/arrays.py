"""Numpy in, numpy out, whatever the user's functions speak: torch, numpy, jax or plain lists."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Literal

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.unwrapping import plain_function

Framework = Literal["torch", "numpy", "jax", "list"]
MaskKind = Literal["bool", "float", "int"]
Values = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Convention:
    """In which form a function takes its arrays."""

    framework: Framework
    mask: MaskKind
    single: bool  # float32 instead of float64


def conventions(function: Callable[..., object]) -> list[Convention]:
    """Forms to try, the most likely first: the framework that the function's module uses, then the others.

    Boolean masks come first: code that indexes or inverts with a mask is silently wrong with integers, and code that
    does arithmetic with it fails with booleans and is tried again with floats.
    """
    found = []
    for framework in _frameworks(function):
        for single in (False, True):
            for mask in ("bool", "float", "int"):
                found.append(Convention(framework, mask, single))
    return found


def convert(value: object, convention: Convention, *, kind: str, annotation: str = "") -> object:
    """A numpy array in the form that the function takes; scalars and objects pass as they are."""
    if not isinstance(value, np.ndarray):
        return value
    array = _typed(value, convention, kind)
    framework = _annotated(annotation) or convention.framework
    if framework == "list":
        return array.tolist()
    if framework == "torch":
        import torch

        return torch.from_numpy(np.ascontiguousarray(array).copy())
    if framework == "jax":
        import jax.numpy

        return jax.numpy.asarray(array)
    return array.copy()


def to_numpy(value: object) -> FloatArray:
    """A result as float64.

    Raises:
        TypeError: it is no number and no array of numbers.
    """
    if value is None:
        raise TypeError("got None, expected numbers")
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return np.asarray(value.detach().to(torch.float64).cpu().numpy())
    if isinstance(value, list | tuple) and torch is not None and any(isinstance(one, torch.Tensor) for one in value):
        return np.stack([to_numpy(one) for one in value])
    try:
        return np.asarray(value, dtype=np.float64)
    except ValueError as error:
        raise TypeError(f"got {type(value).__name__}, expected numbers ({error})") from error


def _typed(
    array: np.ndarray[tuple[int, ...], np.dtype[np.generic]], convention: Convention, kind: str
) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    floating = np.float32 if convention.single else np.float64
    if kind == "mask":
        return array.astype({"bool": np.bool_, "float": floating, "int": np.int64}[convention.mask])
    if kind == "int":
        return array.astype(np.int64)
    return array.astype(floating) if array.dtype.kind == "f" else array


def _annotated(annotation: str) -> Framework | None:
    text = annotation.lower().removeprefix("<class '")  # str() of a plain class
    if "ndarray" in text or "np." in text:
        return "numpy"
    if "tensor" in text:
        return "torch"
    return "list" if text.startswith(("list", "sequence", "typing.list", "collections.abc.sequence")) else None


def _frameworks(function: Callable[..., object]) -> list[Framework]:
    spoken = _spoken(function)
    ordered: list[Framework] = []
    if "torch" in spoken:
        ordered.append("torch")
    if "jax" in spoken:
        ordered.append("jax")
    ordered.append("numpy")
    if "torch" not in spoken and "torch" in sys.modules:
        ordered.append("torch")
    ordered.append("list")
    return ordered


def _spoken(function: Callable[..., object]) -> set[str]:
    """Names of array frameworks that the function's module has imported."""
    seen: set[str] = set()
    plain = plain_function(function)
    names = set(plain.__code__.co_names) if plain is not None else set()
    seen.update(names & {"torch", "jax"})  # an import inside the function
    for value in list(plain.__globals__.values()) if plain is not None else []:
        module = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
        top = str(module or "").partition(".")[0]
        if top in ("torch", "jax"):
            seen.add(top)
    if "jax" in seen and "torch" in seen:
        seen.discard("jax" if "torch" in names else "torch")
    return seen
