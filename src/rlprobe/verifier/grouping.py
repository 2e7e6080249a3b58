"""The user's advantage function as (rewards[N], group_size) -> [N], whichever of the usual layouts it has."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rlprobe.recording.run import FloatArray, IntArray
from rlprobe.verifier.function import Function, RaisedError

Layout = Literal["flat", "matrix", "tokens"]
TOKENS = 3  # width of token-level rewards: the reward stands on the last one
GROUPS = 3  # groups of a trial
SIZES = (4, 8, 2, 6, 5, 16)  # of a group, where nothing says it


@dataclass(frozen=True, slots=True, kw_only=True)
class Advantages:
    """An advantage function with its layout.

    Attributes:
        function: the user's function with its form of arrays.
        layout: "flat" takes [N], "matrix" [P,G], "tokens" [N,T] with a mask.
        group_size: the size it was found to take; the only one where `any_size` is false.
        any_size: whether group sizes may be varied.
        plain_ids: whether group ids are handed over as Python's own numbers, not as an array: they are keys of a dict.
    """

    function: Function
    layout: Layout
    group_size: int
    any_size: bool
    plain_ids: bool = False

    def __call__(
        self, rewards: FloatArray, group_size: int | None = None, *, group_ids: IntArray | None = None
    ) -> FloatArray:
        """Advantages [N] of rewards [N]; groups are contiguous unless group_ids says otherwise.

        Raises:
            RaisedError: the function raised, or the result has not one number a sample.
        """
        values = self.arguments(rewards, group_size, group_ids=group_ids)
        result = self.function(**values)
        samples = len(rewards)
        if self.layout == "tokens" or (result.ndim == 2 and result.shape[0] == samples and result.shape[1] != 1):
            return result[:, 0] if result.shape[:1] == (samples,) else self._misshaped(result, values)
        return result.reshape(-1) if result.size == samples else self._misshaped(result, values)

    def arguments(
        self, rewards: FloatArray, group_size: int | None = None, *, group_ids: IntArray | None = None
    ) -> dict[str, object]:
        """Arguments by role, as the function takes them."""
        size = group_size or self.group_size
        ids = np.arange(len(rewards)) // size if group_ids is None else group_ids
        values: dict[str, object] = {"rewards": rewards, "group_size": size}
        values["group_ids"] = ids.tolist() if self.plain_ids else ids
        if self.layout == "matrix":
            values["rewards"] = rewards.reshape(-1, size)
        if self.layout == "tokens":
            token_level = np.zeros((len(rewards), TOKENS))
            token_level[:, -1] = rewards
            values["rewards"] = token_level
            values["mask"] = np.ones_like(token_level, dtype=bool)
        elif self.function.takes("mask"):
            values["mask"] = np.ones(len(rewards), dtype=bool)
        return {role: value for role, value in values.items() if self.function.takes(role)}

    def _misshaped(self, result: FloatArray, values: dict[str, object]) -> FloatArray:
        raise RaisedError(
            self.function.slot,
            f"no exception, but a result of shape {list(result.shape)}, expected one a sample",
            values,
        )


def arranged(function: Function, group_size: int | None) -> Advantages:
    """The function with the first layout that it answers with one number a sample.

    Raises:
        RaisedError: none; the error is that of the most likely layout.
    """
    function = _asked(function, group_size)
    by_parameter = function.takes("group_size") or function.takes("group_ids")
    sizes = (group_size,) if group_size else SIZES
    first: RaisedError | None = None
    found: list[Advantages] = []
    for layout in _layouts(function, by_parameter=by_parameter):
        try:
            found.append(_with_layout(function, layout, sizes, any_size=by_parameter or layout == "matrix"))
        except RaisedError as error:
            first = first or error
            continue
        if by_parameter or layout != "matrix":
            break
    if not found:
        assert first is not None  # at least one layout was tried
        raise first
    chosen = found[-1] if len(found) == 2 and _alike(*found) else found[0]
    return chosen if by_parameter or group_size or chosen.layout != "flat" else _own_size(chosen)


def _asked(function: Function, group_size: int | None) -> Function:
    """A function of a batch with the roles that it asks the batch for; others as they are."""
    if not function.binding.carried:
        return function
    for size in (group_size,) if group_size else SIZES:
        values = Advantages(function=function, layout="flat", group_size=size, any_size=True).arguments(
            np.arange(GROUPS * size, dtype=np.float64) % 5 / 4.0
        )
        try:
            return function.negotiated(values, lambda result: result is not None)
        except RaisedError:
            continue
    return function


def _layouts(function: Function, *, by_parameter: bool) -> tuple[Layout, ...]:
    named = next((one.parameter for one in function.binding.bound if one.role == "rewards"), "")
    if "token" in named.lower() and function.takes("mask"):
        return ("tokens", "flat", "matrix")
    return ("flat", "tokens", "matrix") if by_parameter else ("matrix", "flat", "tokens")


def _with_layout(function: Function, layout: Layout, sizes: tuple[int, ...], *, any_size: bool) -> Advantages:
    """The function in one layout with the first group size that it takes.

    Raises:
        RaisedError: it takes none.
    """
    first: RaisedError | None = None
    for size in sizes:
        candidate = Advantages(function=function, layout=layout, group_size=size, any_size=any_size)
        if layout == "tokens" and not function.takes("mask"):
            break
        rewards = np.arange(GROUPS * size, dtype=np.float64) % 5 / 4.0
        try:
            settled, found = _settled(candidate, rewards)
        except RaisedError as error:
            first = first or error
            if not function.takes("group_ids"):
                continue
            try:
                return _settled(replace(candidate, plain_ids=True), rewards)[0]
            except RaisedError:
                continue
        return _with_plain_ids(settled, rewards) if _ungrouped(settled, rewards, found) else settled
    raise first or RaisedError(function.slot, "no exception, but takes no mask of tokens", {})


def _settled(candidate: Advantages, rewards: FloatArray) -> tuple[Advantages, FloatArray]:
    """The candidate with its form of arrays, and what it gives.

    Raises:
        RaisedError: it gives nothing in any form.
    """
    values = candidate.arguments(rewards, candidate.group_size)
    settled = replace(candidate, function=candidate.function.negotiated(values, lambda result: result is not None))
    return settled, settled(rewards, settled.group_size)


def _ungrouped(settled: Advantages, rewards: FloatArray, found: FloatArray) -> bool:
    """Whether every sample was a group of its own: tensors as keys of a dict are never equal."""
    return settled.function.takes("group_ids") and (not found.any() or bool(np.allclose(found, rewards, rtol=1e-3)))


def _with_plain_ids(settled: Advantages, rewards: FloatArray) -> Advantages:
    try:
        plain, found = _settled(replace(settled, plain_ids=True), rewards)
    except RaisedError:
        return settled
    return settled if _ungrouped(plain, rewards, found) or not np.isfinite(found).all() else plain


def _alike(matrix: Advantages, flat: Advantages) -> bool:
    """Whether the shape [P,G] says nothing to the function: it gives the same for the flat rewards of its own size."""
    rewards = np.sin(np.arange(GROUPS * 2 * flat.group_size, dtype=np.float64))
    try:
        return bool(np.allclose(matrix(rewards, flat.group_size), flat(rewards), equal_nan=True))
    except RaisedError:
        return True  # it refuses another number of columns: it has a size of its own


def _own_size(flat: Advantages) -> Advantages:
    """The function with the group size that it has inside, told by which samples one reward reaches."""
    rewards = np.sin(np.arange(6 * flat.group_size, dtype=np.float64))
    try:
        before = flat(rewards)
        moved = np.zeros(len(rewards), dtype=bool)
        for step in (0.5, 9.0, -9.0):  # a pair that is normalised by its own deviation only ever changes its signs
            raised = rewards.copy()
            raised[0] += step
            moved |= ~np.isclose(flat(raised), before, rtol=1e-6, atol=1e-9)
        reached = np.flatnonzero(moved)
    except RaisedError:
        return flat
    own = len(reached)
    if own < 2 or own == len(rewards) or reached[-1] != own - 1:
        return flat
    return replace(flat, group_size=own)
