"""The page is what the code does: its tables are the code's, and a recorder written from its words alone is read."""

import json
import struct
import zlib
from pathlib import Path

import msgspec
import pytest

from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Run
from rlprobe.recording.tables import filled
from rlprobe.recording.validate import validate

PAGE = Path(__file__).parents[2] / "docs" / "recording-format.md"


@pytest.mark.skipif(not PAGE.exists(), reason="documentation is not installed")
def test_the_tables_of_the_page_are_those_of_the_code():
    page = PAGE.read_text(encoding="utf-8")

    assert page == filled(page), "run: python -m rlprobe.recording.tables"


def frame(*payload: object) -> bytes:
    encoded = msgspec.msgpack.encode(payload)
    return struct.pack("<II", len(encoded), zlib.crc32(encoded)) + encoded


def test_a_recorder_written_from_the_page_alone_is_read(tmp_path):
    run = tmp_path / "run"
    (run / "journal").mkdir(parents=True)
    (run / "manifest.json").write_text(
        json.dumps({"format": "rlprobe.recording", "version": "1.0", "run_id": "x", "state": "closed", "segments": []})
    )
    (run / "journal" / "steps-0000-000000000000.mpk").write_bytes(
        frame("step", 0, 10, 1.5, ["loss", "ключ"], struct.pack("<2d", 0.5, float("inf")))
        + frame("derived", 2, 10, 1.5, ["loss", "reward_mean"], struct.pack("<2d", 9.0, 3.0))
        + frame("step", 3, 11, 1.5, [], b"")
    )
    columns = {"completion": ["a", None], "token_ids": [msgspec.msgpack.Ext(2, struct.pack("<2i", 5, 6)), None]}
    (run / "journal" / "samples-0000-000000000001.mpk").write_bytes(frame("samples", 1, 10, 1.5, 2, columns))
    (run / "events.jsonl").write_text('{"kind": "custom", "step": 10, "time": 2.0, "mine": [1]}\n')
    found = Run(RecordingFeed(run))

    assert validate(run) == []
    assert found.steps.tolist() == [10, 11]
    assert found.column("loss")[0] == 0.5
    assert found.column("reward_mean")[0] == 3.0
    assert found.column("ключ")[0] == float("inf")
    assert found.samples(step=10).columns["token_ids"][0].tolist() == [5, 6]
    assert found.events[0].fields == {"mine": [1]}
