"""Means over tokens, and where in the completions the KL lies."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from rlprobe.recorder.sample_table import Found, Table, finite
from rlprobe.recording.layout import FLOAT16

_KL_BUCKETS = 4  # buckets of relative token position
_WEIGHTED = {
    "logprob": "logprob_mean", "entropy": "entropy_mean", "kl": "kl_mean", "ratio_mean": "ratio_mean",
    "clip_fraction": "clip_fraction",
}  # fmt: skip  # per-sample token means -> their mean over tokens


def tokens(table: Table) -> Found:
    """Means over tokens from the samples' own means, and where in the completion the KL lies."""
    found: Found = {}
    tokens = table.floats("completion_tokens")
    for column, name in _WEIGHTED.items():
        values = table.floats(column)
        if values is not None:
            weights = np.ones(table.rows) if tokens is None else np.nan_to_num(tokens)
            usable = np.isfinite(values) & (weights > 0)
            found[name] = float(np.average(values[usable], weights=weights[usable])) if usable.any() else np.nan
    found["ratio_max"] = float(np.max(finite(table.floats("ratio_max")), initial=-np.inf))
    if found["ratio_max"] == -np.inf:
        del found["ratio_max"]
    held = [value for value in table.columns.get("token_kl", []) if isinstance(value, msgspec.msgpack.Ext)]
    return found | _positions([_unpacked(bytes(value.data)) for value in held if value.code == FLOAT16])


def _unpacked(data: bytes) -> NDArray[np.float16]:
    return np.frombuffer(data, dtype=np.dtype("<f2"), count=len(data) // 2)


def _positions(arrays: list[NDArray[np.float16]]) -> Found:
    """Where in the completions the KL lies: by fourths of each completion's length."""
    arrays = [array for array in arrays if len(array) >= _KL_BUCKETS]
    if not arrays:
        return {}
    lengths = np.array([len(array) for array in arrays])
    size = np.abs(np.concatenate(arrays).astype(np.float64))
    starts = np.cumsum(lengths) - lengths
    begins = -(-np.arange(_KL_BUCKETS + 1) * lengths[:, None] // _KL_BUCKETS)  # (arrays, buckets + 1), rounded up
    sums = np.add.reduceat(size, (starts[:, None] + begins[:, :-1]).ravel()).reshape(-1, _KL_BUCKETS)
    finite = np.isfinite(sums).all(axis=1)  # a NaN or an infinity in an array shows in its sums
    if not finite.any():
        return {}
    kl, count = sums[finite].sum(axis=0), np.diff(begins[finite]).sum(axis=0)
    found = {f"kl_position_token_fraction/{i}": float(count[i] / count.sum()) for i in range(_KL_BUCKETS)}
    if kl.sum() > 0:
        found |= {f"kl_position_fraction/{i}": float(kl[i] / kl.sum()) for i in range(_KL_BUCKETS)}
    return found
