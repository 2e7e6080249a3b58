"""ms-swift's `logging.jsonl`: a row a logged step, the step inside `"global_step/max_steps": "10/438"`.

The last line sums the run up and holds every row again. Samples lie beside it in `completions.jsonl`, an object of
lists a logged step.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.configuration import stored
from rlprobe.importers.rows.decode import Row, decode
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.json_rows import JsonRows, first_object
from rlprobe.importers.rows.lines import LineSource, head_of
from rlprobe.importers.rows.sample_rows import SampleRow, named, samples_of, transposed
from rlprobe.importers.rows.steps import step_of
from rlprobe.recording.run import Feed, Samples

NAME = "ms-swift"
EXPECTS = "ms-swift's logging.jsonl, or the folder that holds it"
CLUES = (b"global_step/max_steps", b"train_speed(iter/s)")

LOG: Final = "logging.jsonl"
_SAMPLES: Final = "completions.jsonl"
_ARGUMENTS: Final = "args.json"
_PLACE: Final = "global_step/max_steps"
_NAMES: Final = {"advantages": "advantage", "completions": "completion", "prompts": "prompt", "messages": "prompt"}
_HEAD: Final = 1 << 16  # bytes of the file in a folder that tell whether it is one


def sniff(path: Path, head: bytes) -> bool:
    """Whether the first line has ms-swift's step; of a folder, whether its logging.jsonl does."""
    if path.is_dir():
        log = path / LOG
        head = head_of(log, _HEAD) if log.is_file() else b""
    return _PLACE in first_object(head)


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of a file's rows; it goes on where it stopped as the file grows."""
    log = path / LOG if path.is_dir() else path
    completions = log.parent / _SAMPLES

    def samples(step: int | None, columns: tuple[str, ...] | None) -> Samples:
        return samples_of(_samples(completions, step), columns)

    aside = Aside(configuration=stored(log.parent / _ARGUMENTS), samples=samples)
    return RowFeed(str(path), NAME, _Rows(log), keys, run, aside)


class _Rows:
    """Rows without the summary, and the planned number of steps that each of them states."""

    def __init__(self, path: Path) -> None:
        self._rows = JsonRows(path)
        self.settings: Mapping[str, object] = {}

    @property
    def unreadable(self) -> int:
        """Lines that were no JSON objects."""
        return self._rows.unreadable

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reading of the lines says."""
        return self._rows.notes

    def take(self, limit: int) -> list[Row]:
        """The next rows."""
        kept: list[Row] = []
        while not kept and (rows := self._rows.take(limit)):
            planned = str(rows[0].get(_PLACE)).partition("/")[2]
            if planned.isdigit():
                self.settings = {"max_steps": int(planned)}
            kept = [row for row in rows if "log_history" not in row]
        return kept


def _samples(path: Path, step: int | None) -> Iterator[SampleRow]:
    if not path.is_file():
        return
    lines = LineSource(path)
    place, last = 0, None
    while taken := lines.take(64):
        for line in taken:
            document = decode(line)
            for row in transposed(document) if isinstance(document, dict) else ():
                at = step_of(row, tuple(key for key in ("step", "global_step", "gen_step") if key in row)) or 0
                place, last = (place + 1 if at == last else 0), at
                if step is None or at == step:
                    yield {**named(row, _NAMES, at, place), "step": at}
