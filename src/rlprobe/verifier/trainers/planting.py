"""Attributes of a trainer replaced for one call, and everything that the call wrote on it taken back."""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Tables that a trainer writes while it computes; a call works on copies of them.
TABLES = ("_metrics", "_logs", "_pending_metrics", "_pending_extra_logs", "_textual_logs", "state", "control")


@contextmanager
def planted(trainer: object, **replaced: object) -> Iterator[None]:
    """The trainer with these attributes, and with copies of its tables; afterwards all is as it was."""
    before = dict(vars(trainer))
    for name in TABLES:
        if name in before:
            vars(trainer)[name] = copy.deepcopy(before[name])
    vars(trainer).update(replaced)
    try:
        yield
    finally:
        vars(trainer).clear()
        vars(trainer).update(before)


def stands_for(method: object) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Mark a wrapper as speaking for a trainer's method, so that reports name the method's file and line."""

    def mark(wrapper: Callable[..., object]) -> Callable[..., object]:
        wrapper.stands_for = getattr(method, "__func__", method)  # type: ignore[attr-defined]  # read by function.location
        return wrapper

    return mark


def is_adapter(model: object) -> bool:
    """Whether the model is a PEFT model: base weights frozen, adapters trained."""
    return hasattr(model, "peft_config")


def original(owner: object, name: str) -> Callable[..., object] | None:
    """A method of the trainer as it is now, wrappers of the user's included; None where this version has none."""
    found = getattr(owner, name, None)
    return found if callable(found) else None
