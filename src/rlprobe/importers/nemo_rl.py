"""NeMo-RL's log folder: `train_data_step{N}.jsonl`, a sample a line, and the files of its TensorBoard or wandb logger.

Written by `nemo_rl/utils/logger.py` (https://github.com/NVIDIA-NeMo/RL). The samples carry the log-probs of the sampler
and of the policy token by token. Without a logger beside them the rows are computed from the samples.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np

from rlprobe.importers import tensorboard, wandb
from rlprobe.importers.folders.listing import Walk, listed
from rlprobe.importers.rows.decode import Row, decode
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.lines import LineSource
from rlprobe.importers.rows.sample_rows import SampleRow, samples_of, text_of
from rlprobe.recording.run import Feed, Samples

NAME = "nemo-rl"
EXPECTS = "NeMo-RL's log folder: train_data_step{N}.jsonl and the logger's files beside them"

_FILE = re.compile(r"train_data_step(\d{1,18})\.jsonl")
_BLOCK: Final = 64  # samples with all their tokens held at once
_LOG_PROBS: Final = {"generation_logprobs": "sampler_logprob", "prev_logprobs": "old_logprob"}


def sniff(path: Path, head: bytes) -> bool:
    """Whether the folder holds the samples of a step."""
    return not head and path.is_dir() and bool(_files(path))


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of the logger's metrics, with the samples beside them."""

    def samples(step: int | None, columns: tuple[str, ...] | None) -> Samples:
        return samples_of(_samples(path, step), columns)

    feed = _logged(path, keys, run)
    if feed is None:
        feed = RowFeed(str(path), NAME, _Rows(path), keys, run)
    feed.aside.samples = samples
    return feed


def _logged(path: Path, keys: Mapping[str, str] | None, run: int | None) -> RowFeed | None:
    """The feed of a logger's folder below this one."""
    for importer in (wandb, tensorboard):
        for folder in Walk(path):
            if importer.sniff(folder.path, b""):
                feed = importer.read(folder.path, keys, run)
                return feed if isinstance(feed, RowFeed) else None
    return None


def _files(path: Path) -> list[tuple[int, Path]]:
    matches = [(_FILE.fullmatch(name), name) for name in listed(path).files]
    return sorted((int(match.group(1)), path / name) for match, name in matches if match is not None)


class _Rows:
    """A row a file, once it has a successor or no cut line."""

    notes: tuple[str, ...] = ("the rows are computed from the samples; they have no losses and no gradients.",)

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last = -1
        self.unreadable = 0
        self.settings: Mapping[str, object] = {}

    def take(self, limit: int) -> list[Row]:
        """The next steps; that of the newest file only when it ends in a whole line."""
        rows: list[Row] = []
        files = [each for each in _files(self._path) if each[0] > self._last][:limit]
        for step, path in files:
            source = LineSource(path)
            held = [_numbers_of(sample) for sample in _decoded(source)]
            if source.tail.strip() and (step, path) == files[-1]:
                break
            self.unreadable += bool(source.tail.strip()) + held.count({})
            self._last = step
            rows += [_row(step, held)] if any(held) else []
        return rows


def _decoded(source: LineSource) -> Iterator[object]:
    while lines := source.take(_BLOCK):
        yield from map(decode, lines)


def _numbers_of(sample: object) -> dict[str, float]:
    """The numbers of a sample that its step's row is made of; none where the line is no sample."""
    if not isinstance(sample, dict):
        return {}
    row = _sample(sample)
    return {key: float(value) for key, value in row.items() if isinstance(value, int | float)}


def _row(step: int, samples: list[dict[str, float]]) -> Row:
    row: Row = {"step": step, "samples_count": len(samples) - samples.count({})}
    for key, name in (
        ("reward", "reward_mean"),
        ("completion_tokens", "completion_tokens_mean"),
        ("advantage", "advantage_mean"),
    ):
        values = [sample[key] for sample in samples if key in sample]
        if values:
            row[name] = float(np.mean(values))
    if rewards := [sample["reward"] for sample in samples if "reward" in sample]:
        row |= {"reward_std_batch": float(np.std(rewards)), "reward_min": min(rewards), "reward_max": max(rewards)}
    return row


def _samples(path: Path, step: int | None) -> Iterator[SampleRow]:
    for at, file in _files(path):
        if step is None or at == step:
            place = 0
            for sample in _decoded(LineSource(file)):
                if isinstance(sample, dict):
                    yield {"step": at, "sample": place, **_sample(sample)}
                    place += 1


def _sample(sample: Mapping[str, object]) -> dict[str, object]:
    """One sample: what the columns of samples know; token ids are counted, not kept."""
    row: dict[str, object] = {}
    reward = sample.get("rewards")
    if isinstance(reward, int | float):
        row["reward"] = reward
    content = sample.get("content")
    if content is not None:
        row["completion"] = text_of(content)
    mask = sample.get("token_loss_mask")
    trained = _array(mask if isinstance(mask, list) else []) > 0
    if trained.size:
        row["completion_tokens"] = int(np.count_nonzero(trained))
    for key, name in {**_LOG_PROBS, "advantages": "advantage"}.items():
        values = sample.get(key)
        if isinstance(values, int | float):
            row[name] = values
        elif isinstance(values, list) and len(values) == trained.size and trained.any():
            row[name] = float(np.mean(_array(values)[trained]))
    return row


def _array(values: list[object]) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.array([value if isinstance(value, int | float) else np.nan for value in values], dtype=np.float64)
