"""Statistics of a step that need every sample: computed on the whole batch before rows are dropped.

All functions take columns of equal length and leave out what the columns cannot tell. Standard deviations are those of
a sample (n - 1), as trainers report them.
"""

from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from rlprobe.recorder.group_parts import parts, split
from rlprobe.recording.layout import FLOAT16

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Columns = Mapping[str, list[object]]
Found = dict[str, float]

_REPETITION_SAMPLES = 16  # completions of a step whose 4-grams are counted, evenly spaced
_REPETITION_WORDS = 512  # words of each
_GRAM = 4
_KL_BUCKETS = 4  # buckets of relative token position
_WEIGHTED = {
    "logprob": "logprob_mean", "entropy": "entropy_mean", "kl": "kl_mean", "ratio_mean": "ratio_mean",
    "clip_fraction": "clip_fraction",
}  # fmt: skip  # per-sample token means -> their mean over tokens


class StepStatistics:
    """The samples of the newest step, and their statistics: all calls for one step count as one batch.

    Remembers the extremes of the reward over the run, which tell a group that is all right from one that is all wrong.
    """

    def __init__(self) -> None:
        self.step: int | None = None
        self.parts: Mapping[str, list[object]] = {}  # of groups that lie on several ranks; none where all are whole
        self._columns: dict[str, list[object]] = {}
        self._rows = 0
        self._changed = False
        self._low, self._high = np.inf, -np.inf

    def add(self, step: int, columns: Columns, rows: int) -> None:
        """Take in samples; those of another step are forgotten, those of an evaluation do not count."""
        if "evaluation" in columns.get("split", ()):
            return
        if step != self.step:
            self.step, self._columns, self._rows = step, {}, 0
        names = dict.fromkeys([*self._columns, *columns])
        self._columns = {
            name: self._columns.get(name, [None] * self._rows) + columns.get(name, [None] * rows) for name in names
        }
        self._rows += rows
        self._changed = True

    def due(self) -> Found | None:
        """Canonical metrics of the newest step's samples; None when nothing came since the last call."""
        if not self._changed:
            return None
        self._changed = False
        with np.errstate(all="ignore"):  # rewards near the limits of float64 overflow into infinities, in silence
            return self._of(_Table(self._columns, self._rows))

    def _of(self, table: "_Table") -> Found:
        found: Found = {"samples_count": float(table.rows)}
        finite = _finite(table.floats("reward"))
        if len(finite):
            self._low, self._high = min(self._low, finite.min()), max(self._high, finite.max())
        for part in (_rewards, _advantages, _lengths, _texts, _tokens):
            found.update(part(table))
        self.parts = _parts(table)
        if not self.parts:
            found.update(_groups(table, self._low, self._high))
        return {name: float(value) for name, value in found.items() if value == value}


class _Table:
    """Columns as arrays, made on demand."""

    def __init__(self, columns: Columns, rows: int) -> None:
        self.columns = columns
        self.rows = rows
        self._made: dict[str, Floats | None] = {}

    def floats(self, name: str) -> Floats | None:
        """A numeric column, None as NaN; None when there is no such column or it holds no number."""
        if name not in self._made:
            values = self.columns.get(name)
            nothing = values is None or all(value is None for value in values)
            self._made[name] = None if nothing else np.array(values, dtype=np.float64)  # None becomes NaN
        return self._made[name]

    def members(self, prefix: str) -> list[str]:
        """Names of a family's columns."""
        return [name for name in self.columns if name.startswith(prefix)]

    def codes(self) -> Ints | None:
        """(rows,) number of each sample's group, by group id, else by prompt; None when neither is known."""
        for name in ("group", "prompt_id", "prompt"):
            values = self.columns.get(name)
            if values is not None and any(value is not None for value in values):
                return _codes(values)
        return None


def _codes(values: list[object]) -> Ints:
    known: dict[object, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in values], dtype=np.int64)


def _finite(values: Floats | None) -> Floats:
    return np.empty(0) if values is None else values[np.isfinite(values)]


def _spread(values: Floats) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else np.nan


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else np.nan


def _rewards(table: _Table) -> Found:
    found: Found = {}
    reward = table.floats("reward")
    if "reward" in table.columns:
        missing = table.columns["reward"].count(None)
        unusable = table.rows if reward is None else int((~np.isfinite(reward)).sum())
        found["reward_missing_count"] = float(missing)
        found["reward_nonfinite_count"] = float(unusable - missing)
    finite = _finite(reward)
    if len(finite):
        found |= {
            "reward_mean": _mean(finite), "reward_std_batch": _spread(finite),
            "reward_min": float(finite.min()), "reward_max": float(finite.max()),
        }  # fmt: skip
    for name in table.members("reward/"):
        part = _finite(table.floats(name))
        member = name.removeprefix("reward/")
        found[f"reward_component_mean/{member}"] = _mean(part)
        found[f"reward_component_std/{member}"] = _spread(part)
    found["true_reward_mean"] = _mean(_finite(table.floats("true_reward")))
    found["accuracy_fraction"] = _mean(_finite(table.floats("right")))
    received = table.members("reward_text/")
    if received:
        differs = [any(table.columns[name][row] is not None for name in received) for row in range(table.rows)]
        found["reward_text_mismatch_fraction"] = float(np.mean(differs))
    return found


def _advantages(table: _Table) -> Found:
    advantage = table.floats("advantage")
    finite = _finite(advantage)
    if advantage is None or not len(finite):
        return {}
    found = {
        "advantage_mean": _mean(finite), "advantage_std": _spread(finite), "advantage_min": float(finite.min()),
        "advantage_max": float(finite.max()), "advantage_abs_mean": float(np.abs(finite).mean()),
    }  # fmt: skip
    tokens, logprob = table.floats("completion_tokens"), table.floats("logprob")
    for sign, tokens_name, logprob_name in (
        (1, "completion_tokens_right_mean", "logprob_positive_mean"),
        (-1, "completion_tokens_wrong_mean", "logprob_negative_mean"),
    ):
        side = sign * advantage > 0
        found[tokens_name] = _mean(_finite(tokens[side])) if tokens is not None else np.nan
        found[logprob_name] = _mean(_finite(logprob[side])) if logprob is not None else np.nan
    if tokens is not None and np.nansum(tokens) > 0:
        found["positive_advantage_token_fraction"] = float(np.nansum(tokens[advantage > 0]) / np.nansum(tokens))
    return found


def _lengths(table: _Table) -> Found:
    found: Found = {}
    raw = table.floats("completion_tokens")
    tokens = _finite(raw)
    truncated = table.floats("truncated")
    if raw is not None and len(tokens):
        found |= {
            "completion_tokens_mean": _mean(tokens), "completion_tokens_std": _spread(tokens),
            "completion_tokens_min": float(tokens.min()), "completion_tokens_max": float(tokens.max()),
        }  # fmt: skip
        if truncated is not None:
            ended = _finite(raw[truncated == 0])
            found["terminated_tokens_mean"] = _mean(ended) if len(ended) else 0.0
    found["truncated_fraction"] = _mean(_finite(truncated))
    found["prompt_tokens_mean"] = _mean(_finite(table.floats("prompt_tokens")))
    reasons = [reason for reason in table.columns.get("stop_reason", []) if reason is not None]
    if reasons:
        found["aborted_fraction"] = sum(reason == "abort" for reason in reasons) / len(reasons)
    staleness = _finite(table.floats("staleness"))
    if len(staleness):
        found |= {"staleness_mean": _mean(staleness), "staleness_max": float(staleness.max())}
    return found


def _texts(table: _Table) -> Found:
    found: Found = {}
    texts = [text for text in table.columns.get("completion", []) if isinstance(text, str)]
    if texts:
        found["empty_fraction"] = sum(not text or text.isspace() for text in texts) / len(texts)
        every = max(1, len(texts) // _REPETITION_SAMPLES)
        counted = [_repetition(text.split(None, _REPETITION_WORDS)) for text in texts[::every]]
        found["repetition_fraction"] = _mean(_finite(np.array(counted)))
    given = _finite(table.floats("repetition"))
    if len(given):
        found["repetition_fraction"] = _mean(given)
    return found


def _repetition(words: list[str]) -> float:
    """Fraction of the 4-grams that occurred before in the text; NaN for a text of fewer than four words."""
    words = words[:_REPETITION_WORDS]
    grams = len(words) - _GRAM + 1
    if grams < 1:
        return np.nan
    return 1 - len(set(zip(*(words[start:] for start in range(_GRAM)), strict=False))) / grams


def _tokens(table: _Table) -> Found:
    """Means over tokens from the samples' own means, and where in the completion the KL lies."""
    found: Found = {}
    tokens = table.floats("completion_tokens")
    for column, name in _WEIGHTED.items():
        values = table.floats(column)
        if values is not None:
            weights = np.ones(table.rows) if tokens is None else np.nan_to_num(tokens)
            usable = np.isfinite(values) & (weights > 0)
            found[name] = float(np.average(values[usable], weights=weights[usable])) if usable.any() else np.nan
    found["ratio_max"] = float(np.max(_finite(table.floats("ratio_max")), initial=-np.inf))
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


def _parts(table: _Table) -> Mapping[str, list[object]]:
    """What a reader needs to put groups together of which other ranks hold samples; none where all are whole here."""
    codes, declared = table.codes(), table.floats("group_size")
    if codes is None or declared is None or not split(codes, declared):
        return {}
    reward = table.floats("reward")
    names = table.columns.get("group") or table.columns.get("prompt_id") or [""] * table.rows
    return parts(names, codes, np.full(table.rows, np.nan) if reward is None else reward, declared)


def _groups(table: _Table, low: float, high: float) -> Found:
    codes = table.codes()
    if codes is None or table.rows == 0:
        return {}
    count = int(codes.max()) + 1
    sizes = np.bincount(codes, minlength=count)
    found = {"group_size_mean": float(sizes.mean()), "group_size_min": float(sizes.min())}
    prompts = table.columns.get("prompt_id")
    if prompts is not None and "group" in table.columns:
        pairs = {(code, prompt) for code, prompt in zip(codes.tolist(), prompts, strict=True)}
        found["mixed_prompt_group_fraction"] = float(np.mean(np.bincount([code for code, _ in pairs]) > 1))
    texts = table.columns.get("completion")
    if texts is not None and (sizes > 1).any():
        distinct = np.bincount([code for code, _ in set(zip(codes.tolist(), texts, strict=True))], minlength=count)
        found["duplicate_fraction"] = float(np.mean((1 - distinct / sizes)[sizes > 1]))
    reward = table.floats("reward")
    if reward is not None:
        found |= _group_rewards(table, reward, codes, low, high)
    return found


def _group_rewards(table: _Table, reward: Floats, codes: Ints, low: float, high: float) -> Found:
    usable = np.isfinite(reward)
    reward, codes = reward[usable], codes[usable]
    sizes = np.bincount(codes)
    many = sizes > 1
    if not many.any():
        return {}
    mean = np.bincount(codes, weights=reward) / np.maximum(sizes, 1)
    centred = reward - mean[codes]
    variance = np.bincount(codes, weights=centred**2)[many] / (sizes[many] - 1)
    least, most = (
        _by_group(np.minimum, reward, codes, np.inf)[many],
        _by_group(np.maximum, reward, codes, -np.inf)[many],
    )
    found = {
        "reward_std_group_mean": float(np.sqrt(variance).mean()),
        "zero_variance_group_fraction": float(np.mean(least == most)),
    }
    right = table.floats("right")
    if right is not None:
        least, most = (_by_group(each, right[usable], codes, start)[many] for each, start in _SIDES)
        low, high = 0.0, 1.0
    if high > low:
        found |= {
            "all_right_group_fraction": float(np.mean(least >= high)),
            "all_wrong_group_fraction": float(np.mean(most <= low)),
        }
    advantage, tokens = table.floats("advantage"), table.floats("completion_tokens")
    if advantage is not None:
        clear = many[codes] & (np.abs(centred) > 1e-9 * (1 + np.abs(mean[codes])))
        opposite = np.sign(advantage[usable]) == -np.sign(centred)
        found["advantage_reward_disagreement_fraction"] = float(opposite[clear].mean()) if clear.any() else 0.0
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
    return float(np.mean(xy[usable] / np.sqrt(xx[usable] * yy[usable]))) if usable.any() else np.nan


def _centred_ranks(values: Floats, codes: Ints, sizes: Ints) -> Floats:
    """Rank of each value within its group, ties sharing their mean rank, minus the group's mean rank."""
    order = np.lexsort((values, codes))
    ordered, groups = values[order], codes[order]
    new = np.ones(len(values), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]) | (groups[1:] != groups[:-1])
    run = np.cumsum(new) - 1
    starts = np.flatnonzero(new)
    lengths = np.diff(starts, append=len(values))
    first_of_group = np.cumsum(sizes) - sizes
    mean_rank = starts + (lengths - 1) / 2
    ranks = np.empty(len(values))
    ranks[order] = mean_rank[run] - first_of_group[groups] - (sizes[groups] - 1) / 2
    return ranks
