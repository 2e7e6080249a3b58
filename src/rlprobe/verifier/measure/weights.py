"""Weights, gradients, modes and optimizer states: looked at, and put back."""

import copy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rlprobe.verifier.subject import Subject, Unavailable

if TYPE_CHECKING:
    import torch

DEPTH = 3  # objects of the user's that are followed from a function to its modules
FOREIGN = ("torch", "numpy", "builtins", "transformers", "accelerate", "datasets")  # packages that are not followed


def policy(subject: Subject) -> "torch.nn.Module":
    """The model that trains.

    Raises:
        Unavailable: none was handed over, or it is no torch module.
    """
    return _module(subject, "model")


def reference(subject: Subject) -> "torch.nn.Module":
    """The reference model.

    Raises:
        Unavailable: none was handed over, or it is no torch module.
    """
    return _module(subject, "ref_model")


def trainable(module: "torch.nn.Module") -> dict[str, "torch.nn.Parameter"]:
    """Parameters that require a gradient, by name."""
    return {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}


def copied(module: "torch.nn.Module") -> dict[str, "torch.Tensor"]:
    """Clones of all parameters and buffers, by name."""
    return {name: value.detach().clone() for name, value in module.state_dict(keep_vars=True).items()}


def moved(module: "torch.nn.Module", before: dict[str, "torch.Tensor"]) -> list[str]:
    """Names of tensors that are not what they were."""
    import torch

    now = module.state_dict(keep_vars=True)
    return [name for name, value in before.items() if not torch.equal(value, now[name])]


def held(optimizer: object) -> "list[torch.Tensor]":
    """Tensors that an optimizer updates."""
    groups = getattr(optimizer, "param_groups", None) or []
    return [parameter for group in groups for parameter in group["params"]]


@contextmanager
def restored(*roots: object) -> Iterator[None]:
    """Everything reachable from the objects is afterwards as it was: tensors, gradients, modes, optimizer states."""
    import torch

    modules, optimizers = _reachable(roots)
    tensors: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
    gradients: dict[int, tuple[torch.Tensor, torch.Tensor | None]] = {}
    modes = [(child, child.training) for module in modules for child in module.modules()]
    for module in modules:
        for value in module.state_dict(keep_vars=True).values():
            if isinstance(value, torch.Tensor):
                tensors[id(value)] = (value, value.detach().clone())
        for parameter in module.parameters():
            gradients[id(parameter)] = (parameter, None if parameter.grad is None else parameter.grad.detach().clone())
    states = [(one, copy.deepcopy(one.state_dict())) for one in optimizers]
    try:
        yield
    finally:
        with torch.no_grad():
            for value, kept in tensors.values():
                value.copy_(kept)
        for parameter, gradient in gradients.values():
            parameter.grad = gradient
        for child, training in modes:
            child.training = training
        for optimizer, state in states:
            optimizer.load_state_dict(state)


def _module(subject: Subject, slot: str) -> "torch.nn.Module":
    found = getattr(subject.pipeline, slot)
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(found, torch.nn.Module):
        raise Unavailable(f"{slot} is no torch module", (slot,))
    return found


def _reachable(roots: tuple[object, ...]) -> "tuple[list[torch.nn.Module], list[torch.optim.Optimizer]]":
    """Modules and optimizers among the objects, their attributes, and what functions close over."""
    import torch

    modules: list[torch.nn.Module] = []
    optimizers: list[torch.optim.Optimizer] = []
    seen: set[int] = set()
    waiting = [(root, 0) for root in roots]
    while waiting:
        one, depth = waiting.pop()
        if id(one) in seen or depth > DEPTH or one is None:
            continue
        seen.add(id(one))
        if isinstance(one, torch.nn.Module):
            modules.append(one)
        elif hasattr(one, "param_groups") and hasattr(one, "load_state_dict"):
            optimizers.append(one)
        else:
            waiting += [(inner, depth + 1) for inner in _inside(one)]
    return modules, optimizers


def _inside(one: object) -> list[object]:
    """What an object of the user's holds; nothing for plain data and for foreign packages."""
    found: list[object] = []
    home = str(getattr(one, "__module__", None) or type(one).__module__).partition(".")[0]
    if home in FOREIGN:
        return found
    for name in ("__self__", "func", "__wrapped__"):
        found.append(getattr(one, name, None))
    for cell in getattr(one, "__closure__", None) or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # the cell is still empty
            continue
    code = getattr(one, "__code__", None)
    scope = getattr(one, "__globals__", {})
    found += [scope[name] for name in getattr(code, "co_names", ()) if name in scope]
    if hasattr(one, "__dict__") and not isinstance(one, type) and type(one).__name__ != "module":
        found += list(vars(one).values())
    return found
