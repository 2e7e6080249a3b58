"""A folder of runs as it is served: a healthy one, a broken log, links that lead out, code to verify."""

import json
import shutil
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT
from tests.forensics.recordings import record

SECRET = "the secret outside"


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("mcp")
    root = base / "served"
    outside = base / "outside"
    (outside / "checkpoint-1").mkdir(parents=True)
    rows = [{"step": step, "reward": 0.5, "reward_std": 0.0, "kl": 0.0, "loss": 0.0} for step in range(1, 61)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (outside / "log.jsonl").write_text(text.replace("0.5", "0.25"))
    (outside / "secret.txt").write_text(SECRET)
    root.mkdir()
    (root / "flat").mkdir()
    (root / "flat" / "log.jsonl").write_text(text)
    long = [
        {
            "group": str(index // 4),
            "prompt": "p",
            "completion": f"{index} " + "word " * 2_000,
            "reward": index / 8,
            "completion_tokens": index,
        }
        for index in range(8)
    ]
    record(root / "recorded", {step: long for step in range(1, 9)})
    linked = root / "linked"
    linked.mkdir()
    (linked / "log.jsonl").symlink_to(outside / "log.jsonl")
    (root / "away").symlink_to(outside, target_is_directory=True)
    (root / "code").mkdir()
    (root / "code" / ".env").write_text("PASSWORD=hunter2\n")
    (root / "code" / "key.bin").write_bytes(bytes(range(64)))
    shutil.copy(ROOT / "examples" / "verify_pipeline.py", root / "code")
    return root
