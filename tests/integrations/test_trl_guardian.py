"""A live TRL run is halted on a real collapse, and a healthy one is left alone."""

import logging
from pathlib import Path

import pytest

pytest.importorskip("trl")

from rlprobe import diagnose, open_run
from rlprobe.integrations.beside import LOG
from rlprobe.integrations.trl import attach
from tests.integrations.trl_lab import CASES, build

pytestmark = [
    pytest.mark.trl,
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),
    pytest.mark.usefixtures("strict"),
]

MOST_STEPS = 400  # that a halt which does not come would cost
HEALTHY_STEPS = 60


def test_a_collapse_is_halted_with_a_checkpoint_and_said_in_the_log(
    sorter: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = build(sorter, tmp_path / "out", CASES["high-rate"], max_steps=MOST_STEPS)
    with caplog.at_level(logging.WARNING, logger="rlprobe"), attach(trainer, tmp_path / "run", halt=True):
        trainer.train()
    run = open_run(tmp_path / "run")

    (halt,) = [event for event in run.events if event.kind == "halt"]
    assert run.rows < MOST_STEPS
    assert (tmp_path / "out" / f"checkpoint-{run.rows}").is_dir()
    assert f"training is asked to halt: {halt.fields['reason']}" in caplog.text
    assert halt.fields["evidence"]
    assert diagnose(run).verdict == "failing"
    assert "Asked training to halt" in (tmp_path / "run" / LOG).read_text()


def test_a_run_that_learns_is_left_alone(sorter: Path, tmp_path: Path) -> None:
    trainer = build(sorter, tmp_path / "out", CASES["healthy"], max_steps=HEALTHY_STEPS)
    with attach(trainer, tmp_path / "run", halt=True):
        trainer.train()
    run, told = open_run(tmp_path / "run"), (tmp_path / "run" / LOG).read_text()

    assert run.rows == HEALTHY_STEPS
    assert "halt" not in [event.kind for event in run.events]
    assert not (tmp_path / "run" / "control.json").exists()
    assert "The run ended at step 60" in told
    assert "HEALTHY" in told
