"""A recording of a million samples, laid out as the recorder lays them out, made once in a folder."""

import json
from pathlib import Path

import numpy as np

from rlprobe.recording.layout import FORMAT, MAJOR, MANIFEST, MINOR, SAMPLES, part_name
from rlprobe.recording.samples import PART_ROWS, Columns, write_columns

GROUP = 8  # samples of a prompt
STEP_SAMPLES = 512  # samples of a step
PROMPTS = 20_000
WORDS = (
    "the",
    "sum",
    "of",
    "two",
    "numbers",
    "is",
    "so",
    "we",
    "add",
    "carry",
    "ten",
    "and",
    "write",
    "down",
    "answer",
)


def million(folder: Path, rows: int) -> Path:
    """The recording; the rows and the folder's name decide every byte."""
    root = folder / f"samples-{rows}"
    if (root / MANIFEST).exists():
        return root
    (root / SAMPLES).mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(0)
    texts = [" ".join(generator.choice(WORDS, size=int(size))) for size in generator.integers(20, 200, size=4096)]
    for number, start in enumerate(range(0, rows, PART_ROWS)):
        count = min(PART_ROWS, rows - start)
        columns = _part(generator, start, count, texts)
        write_columns(root / SAMPLES / part_name(number), columns, (0, start + count))
    manifest = {"format": FORMAT, "version": f"{MAJOR}.{MINOR}", "algorithm": "grpo"}
    (root / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    return root


def _part(generator: np.random.Generator, start: int, count: int, texts: list[str]) -> Columns:
    index = np.arange(start, start + count)
    step, group = index // STEP_SAMPLES, index // GROUP
    lengths = generator.integers(20, 900, size=count)
    numbers = {
        "reward": np.clip(generator.normal(0.5, 0.3, size=count), 0, 1),
        "reward/correct": (generator.random(count) < 0.4).astype(float),
        "reward/format": generator.random(count),
        "advantage": generator.normal(size=count),
        "logprob": -generator.exponential(0.4, size=count),
        "old_logprob": -generator.exponential(0.4, size=count),
        "reference_logprob": -generator.exponential(0.5, size=count),
        "kl": generator.exponential(0.02, size=count),
        "entropy": generator.exponential(0.5, size=count),
        "repetition": generator.beta(1, 12, size=count),
        "ratio_mean": np.exp(generator.normal(0, 0.02, size=count)),
        "ratio_max": np.exp(generator.exponential(0.2, size=count)),
    }
    prompt = (group * 7919) % PROMPTS
    return {
        "step": step.tolist(),
        "segment": [0] * count,
        "sequence": step.tolist(),
        "sample": (index % STEP_SAMPLES).tolist(),
        "group": [str(each) for each in (group % (STEP_SAMPLES // GROUP)).tolist()],
        "prompt_id": [f"{each:016x}" for each in prompt.tolist()],
        "prompt": [f"Question {each}: {texts[each % len(texts)][:120]}" for each in prompt.tolist()],
        "completion": [texts[each] for each in generator.integers(0, len(texts), size=count).tolist()],
        "completion_tokens": lengths.tolist(),
        "stop_reason": ["length" if each > 850 else "eos" for each in lengths.tolist()],
        "truncated": (lengths > 850).tolist(),
        **{name: values.tolist() for name, values in numbers.items()},
    }
