"""Groups that lie on several ranks: what one rank can say of them so that a reader can put them together.

n, mean and sum of squared deviations of a group's rewards are enough for its variance, and merge without loss.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rlprobe.recording.private_text import short_id

MOST_GROUPS = 4096  # of one step that are told; a step of more has its groups whole somewhere, or nobody asks
_DIGITS = 12  # significant digits of a number; what is beyond does not change a standard deviation


def split(codes: NDArray[np.int64], declared: NDArray[np.float64] | None) -> bool:
    """Whether a group has fewer samples here than its rows say that it has in all.

    Args:
        codes: (n,) group number of each sample.
        declared: (n,) samples of the whole group; NaN or None where nobody says.
    """
    if declared is None or not len(codes):
        return False
    sizes = np.bincount(codes)[codes]
    return bool((sizes < np.nan_to_num(declared)).any())


def parts(
    names: Sequence[object], codes: NDArray[np.int64], reward: NDArray[np.float64], declared: NDArray[np.float64]
) -> Mapping[str, list[object]]:
    """Every group of the step, as columns of equal length: fields of a `group_parts` event.

    Args:
        names: (n,) group id of each sample.
        codes: (n,) group number of each sample.
        reward: (n,) total reward; what is not finite counts in no group.
        declared: (n,) samples of the whole group.
    """
    count = int(codes.max()) + 1 if len(codes) else 0
    first = np.full(count, -1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    usable = np.isfinite(reward)
    values, groups = reward[usable], codes[usable]
    n = np.bincount(groups, minlength=count)
    mean: NDArray[np.float64] = np.bincount(groups, weights=values, minlength=count) / np.maximum(n, 1)
    squares = np.bincount(groups, weights=(values - mean[groups]) ** 2, minlength=count)
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, groups, values)
    np.maximum.at(high, groups, values)
    told = [code for code in range(count) if n[code]][:MOST_GROUPS]
    return {
        "groups": [short_id(str(names[first[code]])) for code in told],
        "size": [int(np.nan_to_num(declared[first[code]])) for code in told],
        "here": np.bincount(codes, minlength=count)[told].tolist(),
        "n": n[told].tolist(),
        "mean": _short(mean[told]),
        "squares": _short(squares[told]),
        "low": _short(low[told]),
        "high": _short(high[told]),
    }


def _short(values: NDArray[np.generic]) -> list[object]:
    return [float(f"{value:.{_DIGITS}g}") for value in values.tolist()]
