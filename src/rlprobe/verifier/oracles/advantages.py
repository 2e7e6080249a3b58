"""Advantages the slow, obvious way: one group, one row, one token after the other."""

import numpy as np

from rlprobe.recording.run import BoolArray, FloatArray


def centred(rewards: FloatArray, group_size: int, baseline: str) -> FloatArray:
    """Rewards [N] minus their baseline: none, batch, or group, leave_one_out, median of contiguous groups."""
    result = np.array(rewards, dtype=np.float64)
    if baseline == "none":
        return result
    if baseline == "batch":
        return np.asarray(result - result.mean())
    for start in range(0, len(result), group_size):
        group = result[start : start + group_size].copy()
        for index, own in enumerate(group):
            if baseline == "leave_one_out":
                taken_off = np.delete(group, index).mean() if len(group) > 1 else 0.0
            else:
                taken_off = np.median(group) if baseline == "median" else group.mean()
            result[start + index] = own - taken_off
    return result


def spread(rewards: FloatArray, group_size: int, scaling: str, ddof: float) -> FloatArray:
    """What each of the rewards [N] is divided by: 1, or a standard deviation of its group or of the batch."""
    values = np.asarray(rewards, dtype=np.float64)
    if scaling == "none":
        return np.ones(len(values))
    if scaling == "batch":
        return np.full(len(values), values.std(ddof=ddof))
    if scaling == "batch_of_centred":
        return np.full(len(values), centred(values, group_size, "group").std(ddof=ddof))
    result = np.empty(len(values))
    for start in range(0, len(values), group_size):
        result[start : start + group_size] = values[start : start + group_size].std(ddof=ddof)
    return result


def gae(rewards: FloatArray, values: FloatArray, gamma: float, lam: float, *, last_value: float = 0.0) -> FloatArray:
    """Generalised advantage estimates [T] of one row by its defining sum (Schulman et al. 2016, equation 16)."""
    length = len(rewards)
    following = [*values[1:], last_value]
    delta = [rewards[t] + gamma * following[t] - values[t] for t in range(length)]
    return np.array([sum((gamma * lam) ** (k - t) * delta[k] for k in range(t, length)) for t in range(length)])


def whitened(values: FloatArray, mask: BoolArray, *, shift_mean: bool = True, ddof: int = 0) -> FloatArray:
    """Values [B,T] with mean 0 (or their own mean) and variance 1 over the mask; 0 outside."""
    kept = values[mask]
    mean, deviation = kept.mean(), kept.std(ddof=ddof)
    result = np.zeros_like(values)
    result[mask] = (kept - mean) / deviation + (0.0 if shift_mean else mean)
    return result
