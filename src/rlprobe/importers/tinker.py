"""tinker-cookbook's log folder: `metrics.jsonl` and `config.json`.

Written by its `utils/ml_log.py` and `stores/training_store.py`. A resume cuts `metrics.jsonl` back to the step it
resumes from and keeps what was there as `metrics.jsonl.pre_resume_*`; those rows were overwritten and are not read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rlprobe.importers.folders.listing import listed
from rlprobe.importers.keymaps.tinker import MAP
from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.configuration import stored
from rlprobe.importers.rows.decode import Row, decode, row_of
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.json_rows import JsonRows
from rlprobe.importers.rows.lines import head_of
from rlprobe.recording.run import Feed

NAME = "tinker"
EXPECTS = "tinker-cookbook's log folder: metrics.jsonl, config.json"

METRICS: Final = "metrics.jsonl"
_CONFIGURATION: Final = "config.json"
_OVERWRITTEN: Final = f"{METRICS}.pre_resume_"
_HEAD: Final = 1 << 16


def sniff(path: Path, head: bytes) -> bool:
    """Whether the folder has a metrics.jsonl with keys that only tinker-cookbook writes. A file is plain JSON Lines."""
    return (
        not head and path.is_dir() and METRICS in listed(path).files and any(map(MAP.claims, keys_in(path / METRICS)))
    )


def keys_in(path: Path) -> set[str]:
    """The keys of the first lines of a file of JSON Lines."""
    try:
        lines = head_of(path, _HEAD).splitlines()
    except OSError:
        return set()
    return {key for line in lines[:50] for key in row_of(decode(line)) or {}}


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of the folder's metrics."""
    aside = Aside(configuration=stored(path / _CONFIGURATION))
    return RowFeed(str(path), NAME, _Rows(path), keys, run, aside, MAP.framework)


@dataclass(slots=True)
class _Rows:
    path: Path
    settings: Mapping[str, object] = field(default_factory=dict)
    _rows: JsonRows = field(init=False)

    def __post_init__(self) -> None:
        self._rows = JsonRows(self.path / METRICS)

    @property
    def unreadable(self) -> int:
        """Lines that were no JSON objects."""
        return self._rows.unreadable

    @property
    def notes(self) -> tuple[str, ...]:
        """Which files hold rows that a resume took back."""
        old = [name for name in listed(self.path).files if name.startswith(_OVERWRITTEN)]
        kept = f"rows that a resume took back lie in {', '.join(old[:5])}; name the file to read them."
        return ((kept,) if old else ()) + self._rows.notes

    def take(self, limit: int) -> list[Row]:
        """The next rows."""
        return self._rows.take(limit)
