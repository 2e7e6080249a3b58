"""The same loss input in another outfit: padded, reordered, doubled, split, with junk where nothing looks."""

import numpy as np

from rlprobe.recording.run import BoolArray, FloatArray

JUNK = {
    "logprobs": -0.01, "old_logprobs": -7.0, "ref_logprobs": -1.0, "entropy": 50.0, "importance_ratio": 9.0,
    "values": 40.0, "old_values": -30.0, "returns": 25.0,
}  # fmt: skip
BY_TOKEN = ("mask", *JUNK)


def padded(values: dict[str, object], *, left: int = 0, right: int = 0) -> dict[str, object]:
    """The input with more columns that the mask leaves out."""
    found = dict(values)
    for role in BY_TOKEN:
        if role in values:
            array = np.asarray(values[role])
            found[role] = np.pad(array, ((0, 0), (left, right)), constant_values=False if role == "mask" else -1.0)
    return found


def reordered(values: dict[str, object], order: list[int]) -> dict[str, object]:
    """The input with its rows in another order, or some of them, or some twice."""
    rows = len(np.asarray(values["mask"]))
    return {
        role: value[order] if isinstance(value, np.ndarray) and value.ndim and len(value) == rows else value
        for role, value in values.items()
    }


def with_junk(values: dict[str, object], *, flip: bool = False) -> dict[str, object]:
    """The input with other finite numbers at every position that the mask leaves out."""
    mask = np.asarray(values["mask"], dtype=bool)
    found = dict(values)
    for role, junk in JUNK.items():
        if role in values:
            array = np.array(values[role], dtype=np.float64)
            array[~mask] = -abs(junk) / 3 if flip else junk
            found[role] = array
    return found


def with_hole(values: dict[str, object]) -> dict[str, object]:
    """The input with a masked token inside the first row, as after a tool's answer."""
    mask = np.array(values["mask"], dtype=bool)
    mask[0, 2] = False
    return {**values, "mask": mask}


def without_row(values: dict[str, object], row: int) -> dict[str, object]:
    """The input with every token of a row masked."""
    mask = np.array(values["mask"], dtype=bool)
    mask[row] = False
    return {**values, "mask": mask}


def outside(slope: FloatArray, mask: BoolArray) -> float:
    """Largest slope at a position that the mask leaves out."""
    return float(np.abs(np.where(mask, 0.0, slope)).max(initial=0.0))
