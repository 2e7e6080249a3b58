"""Where the labelled real runs lie, and how a test takes them."""

import csv
import gzip
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rlprobe.opening import open_run
from rlprobe.recording.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One labelled run of the corpus: verdict is healthy, failing or ambiguous; findings are labels of ids.csv."""

    id: str
    verdict: str
    findings: tuple[str, ...]
    onset_step: int | None
    repository: str
    path: Path

    def text(self) -> bytes:
        """The run's rows as JSONL bytes."""
        return gzip.decompress(self.path.read_bytes())


def runs_directory() -> Path | None:
    """The folder of the labelled runs, None where it is not to be had."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    root = Path(os.environ.get("RLPROBE_SHARED_DATA", beside))
    return root / "runs" if (root / "runs" / "labels.csv").is_file() else None


def opened(label: Label) -> Run:
    """The labelled run, read as the log that it is."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        path.write_bytes(label.text())
        return open_run(path)


def labels() -> list[Label]:
    """Every labelled run, in file order; empty where the corpus is not to be had."""
    root = runs_directory()
    if root is None:
        return []
    with (root / "labels.csv").open(encoding="utf-8", newline="") as lines:
        return [
            Label(
                id=row["id"],
                verdict=row["verdict"],
                findings=tuple(filter(None, row["findings"].split(";"))),
                onset_step=int(float(row["onset_step"])) if row["onset_step"] else None,
                repository=row["repo"],
                path=root / f"{row['id']}.jsonl.gz",
            )
            for row in csv.DictReader(lines)
        ]
