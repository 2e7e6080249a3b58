"""The user's world put back as it was: random states, weights, gradients, modes, optimizer."""

import copy
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from rlprobe.verifier.pipeline import Pipeline

if TYPE_CHECKING:
    import torch


@contextmanager
def preserved(pipeline: Pipeline) -> Iterator[None]:
    """Whatever the checks do inside, the pipeline's objects and the random states are afterwards as they were."""
    generators = random.getstate(), np.random.get_state()  # noqa: NPY002 - the user's global state is what is kept
    torch = sys.modules.get("torch")
    torch_state = torch.get_rng_state() if torch is not None else None
    modules = [_kept_module(one) for one in (pipeline.model, pipeline.ref_model) if _is_module(one)]
    optimizer = _Optimizer(pipeline.optimizer)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter(
                "ignore"
            )  # of the user's code on extreme inputs; as errors they would look like faults
            yield
    finally:
        for put_back in modules:
            put_back()
        optimizer.put_back()
        random.setstate(generators[0])
        np.random.set_state(generators[1])  # noqa: NPY002 - see above
        torch = sys.modules.get("torch")
        if torch is not None and torch_state is not None:
            torch.set_rng_state(torch_state)


class _Optimizer:
    """An optimizer's own state, kept and put back; nothing where it has none."""

    def __init__(self, optimizer: object) -> None:
        state = getattr(optimizer, "state_dict", None)
        self._load = getattr(optimizer, "load_state_dict", None)
        self._kept = copy.deepcopy(state()) if callable(state) else None

    def put_back(self) -> None:
        if self._kept is not None and callable(self._load):
            self._load(self._kept)


def _is_module(candidate: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(candidate, torch.nn.Module)


def _kept_module(module: "torch.nn.Module") -> Callable[[], None]:
    """A function that puts weights, buffers, gradients, flags and modes of the module back."""
    import torch

    tensors = {name: value.detach().clone() for name, value in module.state_dict(keep_vars=True).items()}
    gradients = {name: None if p.grad is None else p.grad.detach().clone() for name, p in module.named_parameters()}
    flags = {name: p.requires_grad for name, p in module.named_parameters()}
    modes = {name: child.training for name, child in module.named_modules()}

    def put_back() -> None:
        with torch.no_grad():
            for name, value in module.state_dict(keep_vars=True).items():
                if name in tensors and not torch.equal(value, tensors[name]):
                    value.copy_(tensors[name])
        for name, parameter in module.named_parameters():
            parameter.requires_grad_(flags.get(name, parameter.requires_grad))
            parameter.grad = gradients.get(name)
        for name, child in module.named_modules():
            child.training = modes.get(name, child.training)

    return put_back
