"""What the groups of a step tell: spread of rewards, dead groups, duplicates, and how length goes with reward."""

from collections.abc import Mapping

import numpy as np

from rlprobe.recorder.group_parts import parts, split
from rlprobe.recorder.sample_table import Floats, Found, Ints, Table, mean


def group_parts(table: Table) -> Mapping[str, list[object]]:
    """What a reader needs to put groups together of which other ranks hold samples; none where all are whole here."""
    codes, declared = table.codes(), table.floats("group_size")
    if codes is None or declared is None or not split(codes, declared):
        return {}
    reward = table.floats("reward")
    names = table.columns.get("group") or table.columns.get("prompt_id") or [""] * table.rows
    return parts(names, codes, np.full(table.rows, np.nan) if reward is None else reward, declared)


def groups(table: Table, low: float, high: float) -> Found:
    codes = table.codes()
    if codes is None or table.rows == 0:
        return {}
    count = int(codes.max()) + 1
    sizes = np.bincount(codes, minlength=count)
    found = {"group_size_mean": mean(sizes), "group_size_min": float(sizes.min())}
    prompts = table.columns.get("prompt_id")
    if prompts is not None and "group" in table.columns:
        pairs = {(code, prompt) for code, prompt in zip(codes.tolist(), prompts, strict=True)}
        found["mixed_prompt_group_fraction"] = float(np.mean(np.bincount([code for code, _ in pairs]) > 1))
    texts = table.columns.get("completion")
    if texts is not None and (sizes > 1).any():
        distinct = np.bincount([code for code, _ in set(zip(codes.tolist(), texts, strict=True))], minlength=count)
        found["duplicate_fraction"] = mean((1 - distinct / sizes)[sizes > 1])
    reward = table.floats("reward")
    if reward is not None:
        found |= _group_rewards(table, reward, codes, low, high)
    return found


def _group_rewards(table: Table, reward: Floats, codes: Ints, low: float, high: float) -> Found:
    usable = np.isfinite(reward)
    reward, codes = reward[usable], codes[usable]
    sizes = np.bincount(codes)
    many = sizes > 1
    if not many.any():
        return {}
    middle = np.bincount(codes, weights=reward) / np.maximum(sizes, 1)
    centred = reward - middle[codes]
    variance = np.bincount(codes, weights=centred**2)[many] / (sizes[many] - 1)
    least, most = (
        _by_group(np.minimum, reward, codes, np.inf)[many],
        _by_group(np.maximum, reward, codes, -np.inf)[many],
    )
    found = {
        "reward_std_group_mean": mean(np.sqrt(variance)),
        "zero_variance_group_fraction": mean(least == most),
    }
    right = table.floats("right")
    if right is not None:
        least, most = (_by_group(each, right[usable], codes, start)[many] for each, start in _SIDES)
        low, high = 0.0, 1.0
    if high > low:
        found |= {
            "all_right_group_fraction": mean(least >= high),
            "all_wrong_group_fraction": mean(most <= low),
        }
    advantage, tokens = table.floats("advantage"), table.floats("completion_tokens")
    if advantage is not None:
        clear = many[codes] & (np.abs(centred) > 1e-9 * (1 + np.abs(middle[codes])))
        opposite = np.sign(advantage[usable]) == -np.sign(centred)
        found["advantage_reward_disagreement_fraction"] = mean(opposite[clear]) if clear.any() else 0.0
    if tokens is not None:
        known = np.isfinite(tokens[usable])
        found["length_reward_correlation"] = rank_correlation(tokens[usable][known], reward[known], codes[known])
    return found


def _by_group(reduce: np.ufunc, values: Floats, codes: Ints, start: float) -> Floats:
    out = np.full(int(codes.max()) + 1, start)
    reduce.at(out, codes, values)
    return out


_SIDES: tuple[tuple[np.ufunc, float], ...] = ((np.minimum, np.inf), (np.maximum, -np.inf))


def rank_correlation(x: Floats, y: Floats, codes: Ints) -> float:
    """Mean over groups of Spearman's rank correlation within the group.

    Args:
        x, y: (n,) finite values.
        codes: (n,) group numbers.

    Returns:
        the mean over the groups of at least three samples in which both vary; NaN when there is none.
    """
    if len(x) == 0:
        return np.nan
    sizes = np.bincount(codes)
    ranks = [_centred_ranks(values, codes, sizes) for values in (x, y)]
    pairs = ((0, 0), (1, 1), (0, 1))
    xx, yy, xy = (np.bincount(codes, weights=ranks[one] * ranks[other]) for one, other in pairs)
    usable = (sizes >= 3) & (xx > 0) & (yy > 0)
    return mean(xy[usable] / np.sqrt(xx[usable] * yy[usable])) if usable.any() else np.nan


def _centred_ranks(values: Floats, codes: Ints, sizes: Ints) -> Floats:
    """Rank of each value within its group, ties sharing their mean rank, minus the group's mean rank."""
    order = np.lexsort((values, codes))
    ordered, groups = values[order], codes[order]
    new = np.ones(len(values), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]) | (groups[1:] != groups[:-1])
    run = np.cumsum(new) - 1
    starts = np.flatnonzero(new)
    lengths = np.concatenate((starts[1:], [len(values)])) - starts
    first_of_group = np.cumsum(sizes) - sizes
    mean_rank = starts + (lengths - 1) / 2
    ranks = np.empty(len(values))
    ranks[order] = mean_rank[run] - first_of_group[groups] - (sizes[groups] - 1) / 2
    return ranks
