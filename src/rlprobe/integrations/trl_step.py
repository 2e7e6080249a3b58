"""One optimizer step as the hooks saw it: its rollouts, its loss calls, its clock; and what becomes of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from rlprobe.integrations.trl_rollout import Rollout
from rlprobe.integrations.trl_tokens import BUCKETS, LossPass
from rlprobe.recording.run import FloatArray


@dataclass(slots=True, kw_only=True)
class StepRecord:
    """What one step collected.

    Attributes:
        number: the trainer's number of the step, 1 for the first.
        started: time.perf_counter() when it began.
        rollouts: generated in this step.
        passes: loss calls of this step with the rollout that they train on.
        losses: what training_step returned, one a micro-batch; their sum is the step's loss.
        seconds: phase -> seconds.
        facts: metrics that are known as they are.
        busy: seconds of work that waits for no other process, as far as it is known.
        separable: whether the terms of the loss can be told apart.
    """

    number: int
    started: float
    rollouts: list[Rollout] = field(default_factory=list)
    passes: list[tuple[Rollout | None, LossPass]] = field(default_factory=list)
    losses: list[Tensor] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    facts: dict[str, float] = field(default_factory=dict)
    busy: float = 0.0
    separable: bool = True

    def spend(self, phase: str, seconds: float) -> None:
        """Add to the time of a phase."""
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds


def loss_metrics(record: StepRecord, *, whole_sequences: bool) -> dict[str, float]:
    """Step metrics of the loss calls; whole_sequences says that one importance ratio is of a sequence."""
    passes = [each for _, each in record.passes]
    if not passes:
        return {}
    columns = joined(passes)
    tokens, total = columns["tokens"], float(columns["tokens"].sum())
    advantage = columns["advantage"]
    out = _advantage_metrics(advantage, tokens)
    out["logprob_nonfinite_count"] = float(columns["nonfinite"].sum())
    if total > 0:
        out["logprob_mean"] = float(columns["logprob"].sum() / total)
        out["positive_advantage_token_fraction"] = float(tokens[advantage > 0].sum() / total)
        for ours, name in (("entropy", "entropy_mean"), ("kl", "kl_mean"), ("kl_old", "kl_old_mean")):
            if ours in columns:
                out[name] = float(columns[ours].sum() / total)
    out |= _by_sign(columns, advantage)
    if "kl_max" in columns and total > 0:  # of no token there is no largest
        out["kl_max"] = float(columns["kl_max"].max())
        out |= _positions(columns)
    if "ratio" in columns and total > 0:
        out |= _ratio_metrics(record, columns, len(tokens) if whole_sequences else total)
    if "sampler_tokens" in columns and columns["sampler_tokens"].sum() > 0:
        scored = columns["sampler_tokens"].sum()
        out["sampler_logprob_difference_mean"] = float(columns["sampler_difference"].sum() / scored)
        out["sampler_logprob_difference_max"] = float(columns["sampler_difference_max"].max())
    for name in passes[0].terms:
        out[name] = sum(each.terms.get(name, 0.0) for each in passes)
    return out | _join_metrics(record)


def joined(passes: list[LossPass]) -> Mapping[str, FloatArray]:
    """The columns that every pass has, end to end."""
    shared = set(passes[0].columns).intersection(*(each.columns for each in passes[1:]))
    names = [name for name in passes[0].columns if name in shared]
    return {name: np.concatenate([each.columns[name] for each in passes]) for name in names}


def per_token(columns: Mapping[str, FloatArray], name: str) -> FloatArray:
    """(B,) mean over a sample's counted tokens; NaN for a sample without any."""
    tokens = columns["tokens"]
    return np.where(tokens > 0, columns[name] / np.maximum(tokens, 1), np.nan)


def loss_columns(rollout: Rollout, record: StepRecord, *, whole_sequences: bool) -> dict[str, list[object]]:
    """What the loss of this step knows of a rollout's samples, as sample columns; None where it did not come by.

    Where a rollout serves several steps, its samples show the log-probs of scoring time until then.
    """
    out: dict[str, list[object]] = {}
    here = [each for owner, each in record.passes if owner is rollout and each.index is not None]
    scoring = [] if rollout.scoring is None else [rollout.scoring]
    for each in [*scoring, *reversed(here)]:  # the first pass of the step has the last word
        index = each.index
        rows = np.arange(len(rollout)) if index is None else index
        for name, values in _pass_columns(each, whole_sequences=whole_sequences).items():
            column = out.setdefault(name, [None] * len(rollout))
            for row, value in zip(rows, values, strict=True):
                column[row] = value
    if scoring and "logprob" in out:
        old = _pass_columns(scoring[0], whole_sequences=whole_sequences)["logprob"]
        out["old_logprob"] = list(old)
    if "kl" in out:
        out["kl_estimator"] = ["k3"] * len(rollout)
    return out


def _pass_columns(each: LossPass, *, whole_sequences: bool) -> dict[str, list[object]]:
    """One pass as sample columns, one value a sample of the pass."""
    columns, counted = each.columns, each.columns["tokens"] > 0
    means = [name for name in ("logprob", "old_logprob", "reference_logprob", "entropy", "kl") if name in columns]
    found: dict[str, FloatArray] = {name: per_token(columns, name) for name in means}
    if "ratio" in columns:
        found["ratio_mean"] = columns["ratio"] if whole_sequences else per_token(columns, "ratio")
        found["ratio_max"] = columns["ratio_max"]
        found["clip_fraction"] = columns["clipped"] if whole_sequences else per_token(columns, "clipped")
    if "sampler_tokens" in columns:
        scored = columns["sampler_tokens"]
        mean = columns["sampler_logprob"] / np.maximum(scored, 1)
        found["sampler_logprob"] = np.where(scored > 0, mean, np.nan)
    out: dict[str, list[object]] = {
        name: [float(value) if has else None for value, has in zip(values, counted, strict=True)]
        for name, values in found.items()
    }
    out["advantage"] = columns["advantage"].tolist()
    if each.mask is not None:
        for name, array in each.token_arrays.items():
            out[name] = [line[keep] for line, keep in zip(array, each.mask, strict=True)]
    return out


def _advantage_metrics(advantage: FloatArray, tokens: FloatArray) -> dict[str, float]:
    out = {
        "advantage_mean": float(advantage.mean()),
        "advantage_min": float(advantage.min()),
        "advantage_max": float(advantage.max()),
        "advantage_abs_mean": float(np.abs(advantage).mean()),
    }
    if len(advantage) > 1:
        out["advantage_std"] = float(advantage.std(ddof=1))
    for name, side in (("right", advantage > 0), ("wrong", advantage < 0)):
        if side.any():
            out[f"completion_tokens_{name}_mean"] = float(tokens[side].mean())
    return out


def _by_sign(columns: Mapping[str, FloatArray], advantage: FloatArray) -> dict[str, float]:
    means, out = per_token(columns, "logprob"), {}
    counted = columns["tokens"] > 0
    for name, side in (("positive", advantage > 0), ("negative", advantage < 0)):
        if (here := side & counted).any():
            out[f"logprob_{name}_mean"] = float(means[here].mean())
    return out


def _positions(columns: Mapping[str, FloatArray]) -> dict[str, float]:
    total, tokens, out = columns["kl"].sum(), columns["tokens"].sum(), {}
    for bucket in range(BUCKETS):
        if total > 0:
            out[f"kl_position_fraction/{bucket}"] = float(columns[f"kl_{bucket}"].sum() / total)
        if tokens > 0:
            out[f"kl_position_token_fraction/{bucket}"] = float(columns[f"tokens_{bucket}"].sum() / tokens)
    return out


def _ratio_metrics(record: StepRecord, columns: Mapping[str, FloatArray], count: float) -> dict[str, float]:
    counted = columns["tokens"] > 0
    high, low = float(columns["ratio_max"][counted].max()), float(columns["ratio_min"][counted].min())
    out = {"ratio_mean": float(columns["ratio"].sum() / count), "ratio_max": high, "ratio_min": low}
    if all(rollout is not None and rollout.step == record.number for rollout, _ in record.passes):
        out["ratio_first_pass_deviation"] = max(abs(high - 1), abs(low - 1))
    return out


def _join_metrics(record: StepRecord) -> dict[str, float]:
    """Metrics that need the rollout of each trained sample: age, and whether its advantage follows its reward."""
    ages: list[int] = []
    advantages, differences = [], []
    for rollout, each in record.passes:
        if rollout is None or (index := each.index) is None:
            continue
        ages += [record.number - rollout.step] * len(index)
        differences.append(rollout.centred()[index])
        advantages.append(each.columns["advantage"])
    out = {}
    if ages:
        out["staleness_mean"], out["staleness_max"] = float(np.mean(ages)), float(max(ages))
    if advantages:
        found = disagreement(np.concatenate(advantages), np.concatenate(differences))
        if found is not None:
            out["advantage_reward_disagreement_fraction"] = found
    return out


def disagreement(advantages: FloatArray, differences: FloatArray) -> float | None:
    """Fraction of samples whose advantage has the opposite sign of reward minus group mean.

    Samples of which either is zero have no sign and are left out; None when none is left.
    """
    signed = (differences != 0) & ~np.isnan(differences) & (advantages != 0)
    return float((differences[signed] * advantages[signed] < 0).mean()) if signed.any() else None
