"""A halt in a loop that is only tapped: it is told, it asks by itself, or it is interrupted."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from rlprobe import Recorder, open_run
from rlprobe.integrations.tap import Tap
from rlprobe.integrations.tap_halting import Halting

needs_writer = pytest.mark.skipif(find_spec("tensorboardX") is None, reason="needs tensorboardX")
BREAKS = """
import itertools, sys
sys.modules["torch"] = None  # tensorboardX does without, and starts in a tenth of the time
from tensorboardX import SummaryWriter
writer = SummaryWriter(sys.argv[1])
try:
    for step in itertools.count():
        writer.add_scalar("loss", 0.5 if step < 3 else float("nan"), step)
except KeyboardInterrupt:
    print("interrupted")
"""


def tapped_loop(run: Path, *, asks: bool) -> list[bool]:
    """What a loop that logs is answered at each step, where somebody asks for a halt."""
    answers = []
    run.mkdir()
    (run / "control.json").write_text('{"request": "halt", "reason": "enough"}')
    opened = Tap(run)
    for step in range(4):
        answers += [opened.should_stop] if asks else []
        opened.take("loop", {"loss": 0.5}, step=step)
    opened.close()
    return answers


def test_a_loop_that_cannot_be_stopped_is_told_once_how_to_ask(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tapped_loop(tmp_path / "run", asks=False)

    assert caplog.text.count("training is asked to halt: enough") == 1
    assert caplog.text.count("a tap cannot stop this loop, and training goes on. Ask `rlprobe.tap().should_stop`") == 1
    run = open_run(tmp_path / "run")
    assert run.steps.tolist() == [0, 1, 2, 3]
    assert [event.fields["reason"] for event in run.events if event.kind == "halt"] == ["enough"]


def test_a_loop_that_asks_gets_the_answer_and_no_advice(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert tapped_loop(tmp_path / "run", asks=True) == [False, True, True, True]
    assert "cannot stop" not in caplog.text


def test_a_rank_that_does_not_record_hears_of_this_sessions_stop_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop of an earlier session would part it from the others, which wait for it then."""
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    stop, halting = tmp_path / "stop.json", Halting(tmp_path, interrupt=False)
    stop.write_text('{"after_step": 98}')
    before = [halting.after_step(None, step) for step in (51, 98)]
    stop.unlink()  # rank 0 begins
    between = halting.after_step(None, 99)
    stop.write_text('{"after_step": 101}')

    assert [*before, between] == [False, False, False]
    assert [halting.after_step(None, step) for step in (100, 101)] == [False, True]


def test_a_halt_of_the_tap_where_a_recorder_records_already_says_that_it_does_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    opened = Tap(tmp_path / "run", halt=True)
    with Recorder(tmp_path / "own"):
        for step in range(2):
            opened.take("loop", {"loss": 0.5}, step=step)
    opened.close()

    assert caplog.text.count("the tap's halt does nothing here: the recorder of this process has its own") == 1
    assert not (tmp_path / "run").exists()


@needs_writer
@pytest.mark.slow
def test_with_halt_a_loop_whose_loss_stays_broken_is_interrupted(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rlprobe", "run", "--run", str(tmp_path / "run"), "--halt", "--"]
    command += [sys.executable, "-c", BREAKS, str(tmp_path / "tensorboard")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr
    assert "the program is interrupted by SIGINT, as --halt says" in done.stderr
    (halt,) = [event for event in open_run(tmp_path / "run").events if event.kind == "halt"]
    assert halt.fields["reason"].startswith("NUMERIC_NAN loss since step 3")
