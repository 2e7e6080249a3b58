"""The kept series of real TRL runs are judged as the runs were: this needs no TRL."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from rlprobe import Run, diagnose
from rlprobe.recording.run import Batch, Manifest, MemoryFeed

HOME = Path(__file__).resolve().parents[1] / "corpus" / "trl"
INDEX = json.loads((HOME / "index.json").read_text(encoding="utf-8"))


def kept(name: str) -> Run:
    """A kept series as a run."""
    rows = [json.loads(line) for line in gzip.decompress((HOME / f"{name}.jsonl.gz").read_bytes()).splitlines()]
    names = sorted({metric for row in rows for metric in row} - {"step"})
    columns = {
        metric: (
            np.array([row.get(metric, np.nan) for row in rows], dtype=np.float64),
            np.array([metric in row for row in rows], dtype=bool),
        )
        for metric in names
    }
    about = INDEX[name]
    manifest = Manifest(
        format="recording",
        algorithm=about["algorithm"],
        framework="trl",
        settings=about["settings"],
        state="closed",
    )
    batch = Batch(steps=np.array([row["step"] for row in rows], dtype=np.int64), columns=columns, manifest=manifest)
    return Run(MemoryFeed(name, [batch]))


@pytest.mark.parametrize("name", INDEX)
def test_a_kept_run_is_judged_as_it_should_be(name: str) -> None:
    diagnosis = diagnose(kept(name))

    found = [each.id for each in diagnosis.findings if each.severity != "info"]
    expected = INDEX[name]["expected"]
    assert found[0] in expected if expected else found == []
