"""Findings written back: what a real watch finds reaches the real loggers."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from rlprobe import open_run
from rlprobe.importers.binary.leveldb_log import LevelDbLog
from rlprobe.integrations.telling import FINDINGS, VERDICT, Telling, checked

PROGRAM = """
import os, sys
os.environ |= {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_DIR": sys.argv[1]}
os.environ |= {"WANDB_ERROR_REPORTING": "false"}
import wandb
from tensorboardX import SummaryWriter
run = wandb.init(project="telling")
writer = SummaryWriter(sys.argv[1] + "/tensorboard")
for step in range(1, 41):
    wandb.log({"reward": 0.5, "reward_std": 0.0, "frac_reward_zero_std": 1.0, "kl": 0.0, "entropy": 0.8}, step=step)
    writer.add_scalar("loss", 0.0, step)
writer.close()
run.finish()
"""


class Run:
    """A run of wandb that remembers."""

    def __init__(self) -> None:
        self.summary: dict[str, object] = {}
        self.alerts: list[tuple[str, str]] = []

    def alert(self, *, title: str, text: str, level: str) -> None:
        self.alerts.append((title, level))


def line(kind: str, name: str = "KL_BLOWUP", severity: str = "critical") -> bytes:
    """One line of a watch."""
    document = {"kind": kind, "name": name, "severity": severity, "text": f"{kind} {name}", "step": 3, "finding": {}}
    return json.dumps(document).encode()


@pytest.fixture
def wandb_run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """The run that wandb is at."""
    run = Run()
    monkeypatch.setitem(sys.modules, "wandb", type("wandb", (), {"run": run}))
    return run


def test_new_findings_are_alerts_and_the_summary_holds_what_is_active(tmp_path: Path, wandb_run: Run) -> None:
    telling = Telling(tmp_path, ["wandb"])
    for told in (line("new"), line("new", "LR_ANOMALY", "warning"), line("new", "STALENESS", "info"), line("eased")):
        telling._hear(told)
    telling.tell()
    during = wandb_run.summary[FINDINGS]
    telling._hear(line("recovered"))
    telling._hear(json.dumps({"kind": "diagnosis", "diagnosis": {"verdict": "attention"}}).encode())
    telling.tell()

    assert during == ["KL_BLOWUP", "LR_ANOMALY", "STALENESS"]
    assert wandb_run.alerts == [("rlprobe: KL_BLOWUP", "ERROR"), ("rlprobe: LR_ANOMALY", "WARN")]
    assert wandb_run.summary == {FINDINGS: ["LR_ANOMALY", "STALENESS"], VERDICT: "attention"}


def test_a_logger_that_refuses_costs_training_nothing(
    tmp_path: Path, wandb_run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuses(**_: object) -> None:
        raise ConnectionError("no network")

    monkeypatch.setattr(wandb_run, "alert", refuses)
    monkeypatch.delenv("RLPROBE_STRICT_HOOKS", raising=False)
    telling = Telling(tmp_path, ["wandb"])
    for _ in range(2):
        telling._hear(line("new"))
    telling.tell()

    assert caplog.text.count("telling wandb failed (ConnectionError: no network)") == 1


def test_names_are_checked_and_one_name_is_a_list_of_one() -> None:
    assert checked("wandb") == ("wandb",)
    with pytest.raises(ValueError, match="got 'slack'"):
        checked(["trackio", "slack"])


@pytest.mark.slow
@pytest.mark.skipif(find_spec("wandb") is None or find_spec("tensorboardX") is None, reason="needs the loggers")
def test_what_a_watch_finds_reaches_wandb_and_tensorboard(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rlprobe", "run", "--run", str(tmp_path / "run"), "--tell", "wandb"]
    command += ["--tell", "tensorboard", "--", sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )

    assert done.returncode == 0, done.stderr
    assert len(open_run(tmp_path / "run").steps) == 40
    (kept,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    log = LevelDbLog(kept, start=7)
    records = b"".join(iter_records(log))
    for told in (VERDICT, "failing", FINDINGS, "rlprobe: REWARD_CONSTANT"):
        assert told.encode() in records
    events = b"".join(path.read_bytes() for path in tmp_path.glob("tensorboard/events*"))
    assert b"verdict: failing" in events
    assert b"REWARD_CONSTANT" in events


def iter_records(log: LevelDbLog) -> list[bytes]:
    """Every record of a wandb file."""
    records: list[bytes] = []
    while taken := log.take():
        records += taken
    return records
