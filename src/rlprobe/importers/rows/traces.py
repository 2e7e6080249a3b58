"""Samples out of verifiers' episodes (`traces.jsonl`, an episode a line), and what they tell of their step.

Source: https://github.com/PrimeIntellect-ai/verifiers (v1: `episode.py`, `trace.py`, `graph.py`). An episode holds a
trace an agent; a trace is a graph of messages of which the sampled ones carry log-probs and advantages.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from rlprobe.importers.rows.decode import Row, decode
from rlprobe.importers.rows.lines import LineSource
from rlprobe.importers.rows.sample_rows import SampleRow, named, text_of

_NAMES: Mapping[str, str] = {}


class TraceFile:
    """The samples of one file as far as it is written.

    Attributes:
        unreadable: lines that were no episodes, a cut last one included.
    """

    def __init__(self, path: Path) -> None:
        self._lines = LineSource(path)
        self._bad = 0

    @property
    def unreadable(self) -> int:
        """Lines that were no episodes, a cut last one included."""
        return self._bad + self._lines.skipped + bool(self._lines.tail.strip())

    def take(self) -> Iterator[dict[str, object]]:
        """The new samples."""
        while lines := self._lines.take(256):
            for line in lines:
                episode = decode(line)
                if not is_episode(episode):
                    self._bad += 1
                    continue
                yield from _samples(episode)


def is_episode(value: object) -> bool:
    """Whether a decoded line is an episode."""
    return isinstance(value, dict) and isinstance(value.get("traces"), list) and "task" in value


def step_row(step: int, samples: Iterable[SampleRow]) -> Row:
    """The metrics that the samples of a step tell."""
    held = list(samples)
    row: Row = {"step": step, "samples_count": len(held)}
    rewards = _numbers(held, "reward")
    if len(rewards):
        row |= {"reward_mean": float(rewards.mean()), "reward_std_batch": float(rewards.std())}
        row |= {"reward_min": float(rewards.min()), "reward_max": float(rewards.max())}
    lengths = _numbers(held, "completion_tokens")
    if len(lengths):
        row |= {"completion_tokens_mean": float(lengths.mean()), "completion_tokens_max": float(lengths.max())}
    if len(truncated := _numbers(held, "truncated")):
        row["truncated_fraction"] = float(truncated.mean())
    for key in dict.fromkeys(key for sample in held for key in sample if key.startswith("reward/")):
        row[f"reward_component_mean/{key.partition('/')[2]}"] = float(_numbers(held, key).mean())
    return row


def _numbers(samples: list[SampleRow], key: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    values = [sample.get(key) for sample in samples]
    return np.array([value for value in values if isinstance(value, int | float)], dtype=np.float64)


def _samples(episode: object) -> Iterator[dict[str, object]]:
    assert isinstance(episode, dict)
    group, run = episode.get("group"), episode.get("run")
    work = run.get("work") if isinstance(run, dict) else None
    for trace in episode["traces"]:
        if isinstance(trace, dict) and isinstance(nodes := trace.get("nodes"), list):
            row = _sample(trace, [node for node in nodes if isinstance(node, dict)])
            if isinstance(group, dict) and isinstance(group.get("id"), str):
                row["group"] = group["id"]
            if isinstance(work, dict):
                row["step"] = work.get("step")
            yield row


def _sample(trace: Mapping[str, object], nodes: list[dict[str, object]]) -> dict[str, object]:
    first = next((place for place, node in enumerate(nodes) if node.get("sampled")), len(nodes))
    messages = [node.get("message") for node in nodes]
    row: dict[str, object] = {"prompt": text_of(messages[:first]), "completion": text_of(messages[first:])}
    rewards = trace.get("rewards")
    parts = _rewards(rewards) if isinstance(rewards, dict) else {}
    if parts:
        row["reward"] = sum(parts.values())
        row |= {f"reward/{name}": value for name, value in parts.items()}
    sampled = [node for node in nodes if node.get("sampled")]
    tokens = [mask.count(True) for node in sampled if isinstance(mask := node.get("mask"), list)]
    if sum(tokens):
        row["completion_tokens"] = sum(tokens)
    for key, name in (
        ("logprobs", "sampler_logprob"),
        ("reference_logprobs", "reference_logprob"),
        ("advantages", "advantage"),
    ):
        if (mean := _mean(sampled, key)) is not None:
            row[name] = mean
    calls = trace.get("calls")
    last = calls[-1] if isinstance(calls, list) and calls else None
    reason = last.get("finish_reason") if isinstance(last, dict) else None
    if isinstance(reason, str):
        row |= {"stop_reason": reason, "truncated": reason == "length"}
    return row


def _rewards(rewards: Mapping[object, object]) -> dict[str, float]:
    """Reward functions and what they add to the total; unscored ones (null) are left out."""
    parts = {}
    for name, reward in rewards.items():
        score = reward.get("score") if isinstance(reward, dict) else reward
        weight = reward.get("weight", 1.0) if isinstance(reward, dict) else 1.0
        if isinstance(score, int | float) and isinstance(weight, int | float):
            parts[str(name)] = float(score) * float(weight)
    return parts


def _mean(nodes: list[dict[str, object]], key: str) -> float | None:
    values = [each for node in nodes if isinstance(found := node.get(key), list) for each in found]
    numbers = [float(value) for value in values if isinstance(value, int | float) and math.isfinite(value)]
    return sum(numbers) / len(numbers) if numbers else None


def placed(samples: Iterable[dict[str, object]], step: int | None = None) -> Iterator[SampleRow]:
    """Samples with their step (the one they name, where None is given; 0 where they name none) and place in it."""
    places: dict[int, int] = {}
    for sample in samples:
        at = _step(sample.pop("step", 0)) if step is None else step
        places[at] = places.get(at, -1) + 1
        yield {**named({"prompt": sample["prompt"]}, _NAMES, at, places[at]), **sample, "step": at}


def _step(value: object) -> int:
    return value if type(value) is int and 0 <= value < 1 << 62 else 0
