"""Training that halts by itself on numbers that stay not finite, and the policy that allows it."""

import json
from pathlib import Path

import pytest

from rlprobe import Recorder, diagnose, open_run
from rlprobe.integrations.beside import Guardian
from rlprobe.recorder.halting import NEAR, NUMBERS, ExactStop
from rlprobe.recording.layout import CONTROL

NAN = float("nan")


def _stopped(losses: list[float], first_step: int = 0) -> int | None:
    """Step at which these losses halt training."""
    exact = ExactStop(first_step=first_step)
    return next((step for step, loss in enumerate(losses) if exact.see(step, {"loss": loss})), None)


def test_the_second_broken_step_nearby_halts_and_a_single_one_does_not() -> None:
    assert _stopped([0.1, NAN, 0.1, NAN, 0.1]) == 3
    assert _stopped([0.1, NAN, *[0.1] * 40]) is None
    assert _stopped([0.1, NAN, *[0.1] * NEAR, float("inf"), 0.1]) is None


def test_numbers_that_were_never_there_count_from_the_third_on_and_none_below_the_first_step() -> None:
    assert _stopped([NAN, NAN, 0.1, 0.1]) is None
    assert _stopped([NAN] * 6) == 3
    assert _stopped([0.1, NAN, NAN, NAN], first_step=3) == 3


def test_a_step_that_is_logged_in_parts_counts_once() -> None:
    exact = ExactStop()
    exact.see(1, {"loss": 0.1, "grad_norm": 0.1})

    assert exact.see(2, {"loss": NAN}) is None
    assert exact.see(2, {"grad_norm": NAN}) is None
    assert exact.see(3, {"grad_norm": NAN}) is not None


@pytest.mark.parametrize("name", NUMBERS)
def test_it_halts_at_the_step_at_which_the_doctor_calls_it_critical(tmp_path: Path, name: str) -> None:
    with Recorder(tmp_path / "run", algorithm="grpo") as recorder:
        recorder.stop_on_nonfinite()
        for step in range(1, 40):
            if step == 20:
                recorder.log_event("checkpoint", step, path="out/checkpoint-20")
            recorder.log_step(step, {name: NAN if step in (25, 31) else 0.5})
            if recorder.should_stop:
                break
    run = open_run(tmp_path / "run")
    (halt,) = [event for event in run.events if event.kind == "halt"]

    assert step == 31
    assert halt.fields["findings"] == [f"NUMERIC_NAN[{name}]@25"]
    assert halt.fields["rollback_checkpoint"] == "out/checkpoint-20"
    assert json.loads((tmp_path / "run" / CONTROL).read_text())["judged_step"] == 31
    (found,) = [one for one in diagnose(run).findings if one.id == "NUMERIC_NAN"]
    assert (found.key, found.severity, found.rollback_step) == (f"NUMERIC_NAN[{name}]@25", "critical", 20)
    assert diagnose(run, until=30).findings[0].severity == "warning"


@pytest.mark.parametrize(
    ("policy", "stops"),
    [
        ("", True),
        ("[guardian.halt]\nfirst_step = 4\n", True),
        ("[guardian.halt]\nat_once = false\n", False),
        ("[guardian.halt]\nexact = false\n", False),
        ('[guardian.halt]\nnever = ["NUMERIC_NAN"]\n', False),
        ('[guardian.halt]\nonly = ["KL_BLOWUP"]\n', False),
        ("[signatures.NUMERIC_NAN]\nenabled = false\n", False),
        ("[guardian", False),
    ],
)
def test_the_policy_decides_whether_training_halts_by_itself(tmp_path: Path, policy: str, stops: bool) -> None:
    (tmp_path / "doctor.toml").write_text(policy)
    with Recorder(tmp_path / "run") as recorder:
        Guardian(tmp_path / "run", tmp_path / "doctor.toml").act_at_once(recorder)
        for step in range(8):
            recorder.log_step(step, loss=NAN if step > 2 else 0.1)

        assert recorder.should_stop is stops
