"""Statistics of a step that need every sample: computed on the whole batch before rows are dropped.

Those of texts, of tokens and of groups have modules of their own. All leave out what the columns cannot tell. Standard
deviations are those of a sample (n - 1), as trainers report them.
"""

from collections.abc import Mapping

import numpy as np

from rlprobe.recorder.group_statistics import group_parts, groups
from rlprobe.recorder.sample_table import Columns, Found, Table, finite, mean, spread
from rlprobe.recorder.text_statistics import texts
from rlprobe.recorder.token_statistics import tokens


class StepStatistics:
    """The samples of the newest step, and their statistics: all calls for one step count as one batch.

    Remembers the extremes of the reward over the run, which tell a group that is all right from one that is all wrong.

    Attributes:
        step: of the samples; None before the first.
        parts: of groups that lie on several ranks; none where all are whole here.
        changed: whether samples came since statistics were asked for.
    """

    def __init__(self) -> None:
        self.step: int | None = None
        self.parts: Mapping[str, list[object]] = {}
        self._columns: dict[str, list[object]] = {}
        self._rows = 0
        self.changed = False
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
        self.changed = True

    def due(self) -> Found | None:
        """Canonical metrics of the newest step's samples; None when nothing came since the last call."""
        if not self.changed:
            return None
        self.changed = False
        with np.errstate(all="ignore"):  # rewards near the limits of float64 overflow into infinities, in silence
            return self._of(Table(self._columns, self._rows))

    def _of(self, table: "Table") -> Found:
        found: Found = {"samples_count": float(table.rows)}
        usable = finite(table.floats("reward"))
        if len(usable):
            self._low, self._high = min(self._low, usable.min()), max(self._high, usable.max())
        for part in (_rewards, _advantages, _lengths, texts, tokens):
            found.update(part(table))
        self.parts = group_parts(table)
        if not self.parts:
            found.update(groups(table, self._low, self._high))
        return {name: float(value) for name, value in found.items() if value == value}


def _rewards(table: Table) -> Found:
    found: Found = {}
    reward = table.floats("reward")
    if "reward" in table.columns:
        missing = table.columns["reward"].count(None)
        unusable = table.rows if reward is None else int((~np.isfinite(reward)).sum())
        found["reward_missing_count"] = float(missing)
        found["reward_nonfinite_count"] = float(unusable - missing)
    known = finite(reward)
    if len(known):
        found |= {
            "reward_mean": mean(known), "reward_std_batch": spread(known),
            "reward_min": float(known.min()), "reward_max": float(known.max()),
        }  # fmt: skip
    for name in table.members("reward/"):
        part = finite(table.floats(name))
        member = name.removeprefix("reward/")
        found[f"reward_component_mean/{member}"] = mean(part)
        found[f"reward_component_std/{member}"] = spread(part)
    found["true_reward_mean"] = mean(finite(table.floats("true_reward")))
    found["accuracy_fraction"] = mean(finite(table.floats("right")))
    received = table.members("reward_text/")
    if received:
        differs = [any(table.columns[name][row] is not None for name in received) for row in range(table.rows)]
        found["reward_text_mismatch_fraction"] = mean(np.array(differs))
    return found


def _advantages(table: Table) -> Found:
    advantage = table.floats("advantage")
    known = finite(advantage)
    if advantage is None or not len(known):
        return {}
    found = {
        "advantage_mean": mean(known), "advantage_std": spread(known), "advantage_min": float(known.min()),
        "advantage_max": float(known.max()), "advantage_abs_mean": mean(np.abs(known)),
    }  # fmt: skip
    tokens, logprob = table.floats("completion_tokens"), table.floats("logprob")
    for sign, tokens_name, logprob_name in (
        (1, "completion_tokens_right_mean", "logprob_positive_mean"),
        (-1, "completion_tokens_wrong_mean", "logprob_negative_mean"),
    ):
        side = sign * advantage > 0
        found[tokens_name] = mean(finite(tokens[side])) if tokens is not None else np.nan
        found[logprob_name] = mean(finite(logprob[side])) if logprob is not None else np.nan
    total = finite(tokens).sum()
    if tokens is not None and total > 0:
        found["positive_advantage_token_fraction"] = float(finite(tokens[advantage > 0]).sum() / total)
    return found


def _lengths(table: Table) -> Found:
    found: Found = {}
    raw = table.floats("completion_tokens")
    tokens = finite(raw)
    truncated = table.floats("truncated")
    if raw is not None and len(tokens):
        found |= {
            "completion_tokens_mean": mean(tokens), "completion_tokens_std": spread(tokens),
            "completion_tokens_min": float(tokens.min()), "completion_tokens_max": float(tokens.max()),
        }  # fmt: skip
        if truncated is not None:
            ended = finite(raw[truncated == 0])
            found["terminated_tokens_mean"] = mean(ended) if len(ended) else 0.0
    found["truncated_fraction"] = mean(finite(truncated))
    found["prompt_tokens_mean"] = mean(finite(table.floats("prompt_tokens")))
    reasons = [reason for reason in table.columns.get("stop_reason", []) if reason is not None]
    if reasons:
        found["aborted_fraction"] = sum(reason == "abort" for reason in reasons) / len(reasons)
    staleness = finite(table.floats("staleness"))
    if len(staleness):
        found |= {"staleness_mean": mean(staleness), "staleness_max": float(staleness.max())}
    return found
