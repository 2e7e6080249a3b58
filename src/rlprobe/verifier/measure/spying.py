"""Listens to a function of the pipeline while another of the user's functions calls it; everything is put back."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rlprobe.verifier.function import Function

Call = dict[str, object]


@contextmanager
def overheard(caller: object, callee: Function, calls: list[Call]) -> Iterator[None]:
    """Calls of `callee` that `caller` makes go into `calls`: arguments by role, the result under "result".

    The caller's module, closure and instance are searched for the callee; where it stands in none of them, nothing
    is heard.
    """
    listening = _listening(callee, calls)
    undo: list[Callable[[], None]] = []
    for function in _functions(caller):
        scope = getattr(function, "__globals__", {})
        for name in [name for name, value in scope.items() if _is(value, callee.target)]:
            undo.append(_replaced(scope, name, listening))
        for cell in getattr(function, "__closure__", None) or ():
            _cell(cell, callee.target, listening, undo)
    owner = getattr(caller, "__self__", None) or caller
    method = getattr(callee.target, "__func__", None)
    if method is not None and getattr(callee.target, "__self__", None) is owner:
        setattr(owner, method.__name__, listening)
        undo.append(lambda: delattr(owner, method.__name__))
    try:
        yield
    finally:
        for step in reversed(undo):
            step()


def _listening(callee: Function, calls: list[Call]) -> Callable[..., object]:
    target = callee.target
    roles = {one.parameter: one.role for one in callee.binding.bound}
    signature = inspect.signature(target)

    def listening(*positional: object, **keywords: object) -> object:
        result = target(*positional, **keywords)
        try:
            given = signature.bind(*positional, **keywords).arguments
        except TypeError:
            given = {}
        heard: Call = {roles[name]: _kept(value) for name, value in given.items() if name in roles}
        calls.append({**heard, "result": _kept(result)})
        return result

    return listening


def _kept(value: object) -> object:
    """Tensors as they are now, with their graph flag; in-place changes later do not reach them."""
    if not (hasattr(value, "detach") and hasattr(value, "requires_grad")):
        return value
    copy = value.detach().clone()
    return copy.requires_grad_() if value.requires_grad else copy


def _functions(caller: object) -> list[object]:
    found, one = [], caller
    for _ in range(6):  # partials and decorators, one in the other
        plain = getattr(one, "__func__", one)
        if hasattr(plain, "__globals__"):
            found.append(plain)
        else:
            method = vars(type(plain)).get("__call__")
            if hasattr(method, "__globals__"):
                found.append(method)
        one = getattr(plain, "__wrapped__", None) or getattr(plain, "func", None)
        if one is None:
            break
    return found


def _is(value: object, target: object) -> bool:
    return value is target or (callable(value) and getattr(value, "__wrapped__", None) is target)


def _replaced(scope: dict[str, object], name: str, value: object) -> Callable[[], None]:
    before = scope[name]
    scope[name] = value

    def put_back() -> None:
        scope[name] = before

    return put_back


def _cell(cell: object, target: object, listening: object, undo: list[Callable[[], None]]) -> None:
    try:
        before = cell.cell_contents  # type: ignore[attr-defined]  # a cell has no public type
    except ValueError:  # still empty
        return
    if not _is(before, target):
        return
    cell.cell_contents = listening  # type: ignore[attr-defined]  # see above

    def put_back() -> None:
        cell.cell_contents = before  # type: ignore[attr-defined]  # see above

    undo.append(put_back)
