"""The fewest groups and the roundest rewards on which a violation of the advantages is still there."""

from collections.abc import Callable, Iterator

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.grouping import Advantages

DIGITS = (1, 2)  # of a reward, the roundest first


def smallest(advantages: Advantages, rewards: FloatArray, fails: Callable[[FloatArray], bool]) -> FloatArray:
    """Rewards [n] of whole groups on which `fails` holds; `rewards` itself where nothing smaller does.

    Args:
        advantages: the function; one that takes no other number of groups keeps its own.
        rewards: (N,) groups contiguous, on which it fails.
        fails: whether the violation is there; an exception of the user's code counts as no.
    """

    def still(candidate: FloatArray) -> bool:
        try:
            return fails(candidate)
        except (RaisedError, ValueError, IndexError, ZeroDivisionError):
            return False

    found = next((candidate for candidate in _fewer(rewards, advantages.group_size) if still(candidate)), rewards)
    return next((candidate for candidate in (np.round(found, n) for n in DIGITS) if still(candidate)), found)


def _fewer(rewards: FloatArray, group_size: int) -> Iterator[FloatArray]:
    """Each group alone, then each pair of neighbours."""
    groups = rewards.reshape(-1, group_size)
    yield from groups
    yield from (groups[start : start + 2].reshape(-1) for start in range(len(groups) - 1))
