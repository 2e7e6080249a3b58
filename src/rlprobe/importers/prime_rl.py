"""prime-rl's run folder: the `metrics.jsonl` of trainer and orchestrator, merged by step, and the rollouts as samples.

Written by its file monitor (https://github.com/PrimeIntellect-ai/prime-rl, `monitors/file.py`), which deletes numbers
that are not finite, and writes several rows a step. `rollouts/step_N/train/effective/traces.jsonl` are the samples that
were trained on; `all` also holds those that failed.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from rlprobe.importers.folders.listing import listed
from rlprobe.importers.keymaps.prime_rl import MAP
from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.merged import MergedRows
from rlprobe.importers.rows.sample_rows import SampleRow, samples_of
from rlprobe.importers.rows.traces import TraceFile, placed
from rlprobe.importers.tinker import METRICS, keys_in
from rlprobe.recording.run import Feed, Samples

NAME = "prime-rl"
EXPECTS = "prime-rl's run folder: metrics.jsonl of trainer and orchestrator, rollouts"

_COMPONENTS: Final = ("trainer", "orchestrator")
_STEP = re.compile(r"step_(\d{1,18})")
_TRACES: Final = "traces.jsonl"


def sniff(path: Path, head: bytes) -> bool:
    """Whether the folder, or its trainer's or orchestrator's, has a metrics.jsonl with prime-rl's own keys."""
    return not head and path.is_dir() and any(any(map(MAP.claims, keys_in(each))) for each in _files(path))


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of the run's metrics."""

    def samples(step: int | None, columns: tuple[str, ...] | None) -> Samples:
        return samples_of(_samples(path, step), columns)

    aside = Aside(samples=samples)
    return RowFeed(str(path), NAME, MergedRows(lambda: _files(path)), keys, run, aside, MAP.framework)


def _files(folder: Path) -> list[Path]:
    inside = listed(folder)
    found = [folder / METRICS] if METRICS in inside.files else []
    for name in _COMPONENTS:
        if name in inside.folders and METRICS in listed(folder / name).files:
            found.append(folder / name / METRICS)
    return found


def _samples(folder: Path, step: int | None) -> Iterator[SampleRow]:
    for at, path in _rollouts(folder):
        if step is None or at == step:
            yield from placed(TraceFile(path).take(), at)


def _rollouts(folder: Path) -> list[tuple[int, Path]]:
    """(step, file) of the training samples, in the order of steps."""
    found = []
    for name in listed(folder / "rollouts").folders:
        if (match := _STEP.fullmatch(name)) is None:
            continue
        for subset in ("effective", "all"):
            place = folder / "rollouts" / name / "train" / subset
            if _TRACES in listed(place).files:
                found.append((int(match.group(1)), place / _TRACES))
                break
    return sorted(found)
