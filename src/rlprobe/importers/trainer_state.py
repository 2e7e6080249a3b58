"""transformers' `trainer_state.json`, and the output folders and checkpoints that hold one (TRL, unsloth, open-r1).

The newest checkpoint's history holds those of the older ones. TRL's `completions/completions_STEP.parquet`, where
`log_completions` was on, are the samples. Pickles (`training_args.bin`, optimizer states) are never opened.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from rlprobe.importers.json_document import DocumentRows
from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.configuration import stored
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.json_rows import first_object
from rlprobe.importers.rows.sample_rows import SampleRow, named, samples_of
from rlprobe.recording.run import Feed, Samples

NAME = "trainer-state"
EXPECTS = "transformers' trainer_state.json, or a checkpoint or output folder that holds one"
CLUES = (b'"log_history"', b'"global_step"')

STATE: Final = "trainer_state.json"
_CHECKPOINT = re.compile(r"checkpoint-(\d{1,18})")
_COMPLETIONS: Final = "completions"
_PART = re.compile(r"completions_(\d{1,18})\.parquet")
_ARGUMENTS: Final = "args.json"  # ms-swift leaves its arguments beside the checkpoints
_START = re.compile(rb'\s*\{.*?"(?:log_history|is_world_process_zero|best_model_checkpoint)"\s*:', re.DOTALL)


def sniff(path: Path, head: bytes) -> bool:
    """Whether a file begins as a trainer's state; whether a folder, or a checkpoint in it, holds one."""
    if path.is_dir():
        return newest_state(path) is not None
    if first := first_object(head):  # the document on one line, or the first of many objects
        return {"log_history", "global_step"} <= first.keys()
    return head.lstrip()[:1] == b"{" and b'"global_step"' in head and _START.match(head) is not None


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of the newest state's rows; a newer checkpoint gives the rows that were added."""
    folder = path if path.is_dir() else path.parent
    output = folder.parent if _CHECKPOINT.fullmatch(folder.resolve().name) else folder

    def samples(step: int | None, columns: tuple[str, ...] | None) -> Samples:
        return samples_of(_samples(output / _COMPLETIONS, step), columns)

    def newest() -> Path:
        return (newest_state(path) or path / STATE) if path.is_dir() else path

    aside = Aside(configuration=stored(output / _ARGUMENTS), samples=samples)
    return RowFeed(str(path), NAME, DocumentRows(newest), keys, run, aside)


def newest_state(folder: Path) -> Path | None:
    """The state of the checkpoint with the highest step, else the one in the folder itself; None without any."""
    steps = [(int(match.group(1)), each) for each in folder.iterdir() if (match := _CHECKPOINT.fullmatch(each.name))]
    for _, checkpoint in sorted(steps, reverse=True):
        if (checkpoint / STATE).is_file():
            return checkpoint / STATE
    return folder / STATE if (folder / STATE).is_file() else None


def _samples(folder: Path, step: int | None) -> Iterator[SampleRow]:
    """Rows of the parquet files in the order of steps; a file that cannot be read is passed over."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts = []
    if folder.is_dir():
        parts = [(int(found.group(1)), each) for each in folder.iterdir() if (found := _PART.fullmatch(each.name))]
    for at, path in sorted(parts):
        if step is not None and at != step:
            continue
        try:
            place = 0
            for batch in pq.ParquetFile(path).iter_batches(batch_size=1024):
                for row in batch.to_pylist():
                    yield {**named(row, {}, at, place), "step": at}
                    place += 1
        except (pa.ArrowException, OSError):
            continue
