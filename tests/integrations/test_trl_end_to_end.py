"""From a real TRL run to a diagnosis: the doctor names each fault and is silent on runs that learn."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

pytest.importorskip("trl")
from datasets import Dataset

from rlprobe import diagnose, open_run
from rlprobe.integrations.trl import attach
from rlprobe.recording.run import Run
from tests.integrations.tiny_model import questions
from tests.integrations.trl_lab import CASES, Case, build

pytestmark = [
    pytest.mark.trl,
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),
    pytest.mark.usefixtures("strict"),
]

PATIENCE = 120  # seconds that a killed run may take to come to its fortieth step
HEALTHY = [name for name, case in CASES.items() if not case.expected]
FAULTY = [name for name, case in CASES.items() if case.expected]


def trained(name: str, sorter: Path, tmp_path: Path) -> Run:
    """The recording of a real run of the case; whatever kills the training is part of the case."""
    trainer = build(sorter, tmp_path / "out", CASES[name])
    with attach(trainer, tmp_path / "run"), contextlib.suppress(RuntimeError):  # generation raises on NaN weights
        trainer.train()
    return open_run(tmp_path / "run")


@pytest.mark.parametrize("name", HEALTHY)
def test_a_run_that_masters_its_task_is_healthy(sorter: Path, tmp_path: Path, name: str) -> None:
    run = trained(name, sorter, tmp_path)
    diagnosis = diagnose(run)

    correct, entropy = run.column("reward_component_mean/correct"), run.column("entropy_mean")
    same = run.column("zero_variance_group_fraction")
    fifth = run.rows // 5
    assert np.nanmean(correct[-fifth:]) > np.nanmean(correct[:fifth]) + 0.15
    assert np.nanmean(entropy[-fifth:]) < 0.6 * np.nanmean(entropy[:fifth])
    assert np.nanmean(same[-fifth:]) > np.nanmean(same[:fifth]) + 0.1  # how far it gets, rounding of the CPU decides
    assert diagnosis.verdict == "healthy"
    assert [each.id for each in diagnosis.findings if each.severity != "info"] == []
    assert run.manifest.state == "closed"
    assert run.reading.bad_values == 0


@pytest.mark.parametrize("name", FAULTY)
def test_the_doctor_names_the_fault_before_its_consequences(sorter: Path, tmp_path: Path, name: str) -> None:
    run = trained(name, sorter, tmp_path)
    diagnosis = diagnose(run)

    found = [each.id for each in diagnosis.findings if each.severity != "info"]
    assert found[0] in CASES[name].expected, found
    assert diagnosis.verdict in ("failing", "attention")


@pytest.mark.parametrize("capture_text", ["hash", False])
def test_without_text_no_prompt_is_on_the_disk_and_every_number_is(
    sorter: Path, tmp_path: Path, capture_text: Literal["hash", False]
) -> None:
    trainer = build(sorter, tmp_path / "out", max_steps=3)
    prompts = {row["prompt"] for row in trainer.train_dataset}
    with attach(trainer, tmp_path / "run", capture="all", capture_text=capture_text):
        trainer.train()
    run = open_run(tmp_path / "run")
    columns = run.samples().columns

    assert run.rows == 3
    assert {"reward", "group", "prompt_id", "token_logprobs"} <= set(columns)
    assert run.logged("repetition_fraction").any()
    assert (
        not {"completion", "token_ids"} & set(columns) if capture_text is False else len(columns["completion"][0]) == 16
    )
    held = b"".join(path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file())
    table = str(columns)
    assert not [prompt for prompt in prompts if prompt in table or prompt.encode() in held]


def test_a_run_killed_at_any_moment_leaves_a_recording_that_can_be_judged(sorter: Path, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    command = [
        sys.executable,
        "-m",
        "tests.integrations.trl_lab",
        str(run_dir),
        str(sorter),
        "constant-reward",
        "100000",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ.copy())
    try:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and process.poll() is None:
            if run_dir.is_dir() and (run_dir / "manifest.json").exists() and open_run(run_dir).rows >= 40:
                break
            time.sleep(0.2)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    finally:
        process.kill()

    run = open_run(run_dir)
    diagnosis = diagnose(run)
    assert run.rows >= 40
    assert run.steps.tolist() == list(range(1, run.rows + 1))
    assert run.manifest.state == "crashed"
    assert len(run.samples(step=20)) > 0
    assert "REWARD_CONSTANT" in [each.id for each in diagnosis.findings]


def test_a_guardians_request_stops_training_and_saves_a_checkpoint(sorter: Path, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"

    def asks(completions: list[str], **_: object) -> list[float]:
        (run_dir / "control.json").write_text('{"request": "halt", "reason": "enough"}', encoding="utf-8")
        return [0.0 for _ in completions]

    trainer = build(sorter, tmp_path / "out", Case(rewards=(asks,)), max_steps=100_000)
    with attach(trainer, run_dir):
        trainer.train()
    run = open_run(run_dir)

    kinds = [event.kind for event in run.events]
    assert run.rows < 1000
    assert [event.fields["reason"] for event in run.events if event.kind == "halt"] == ["enough"]
    assert kinds.index("checkpoint") > kinds.index("halt")
    assert (tmp_path / "out" / f"checkpoint-{run.rows}").is_dir()


def test_a_resumed_run_continues_the_recording_in_a_new_segment(sorter: Path, tmp_path: Path) -> None:
    settings = {"steps_per_generation": 4, "save_strategy": "steps", "save_steps": 3}
    for steps, checkpoint in ((5, None), (7, str(tmp_path / "out" / "checkpoint-3"))):
        trainer = build(sorter, tmp_path / "out", CASES["healthy"], max_steps=steps, **settings)
        with attach(trainer, tmp_path / "run"):
            trainer.train(resume_from_checkpoint=checkpoint)
    run = open_run(tmp_path / "run")

    assert run.steps.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert run.row_segments.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert run.rewinds == 1


def test_samples_of_a_recorded_run_can_be_read_back(sorter: Path, tmp_path: Path) -> None:
    trainer = build(sorter, tmp_path / "out", CASES["healthy"], max_steps=3)
    with attach(trainer, tmp_path / "run", capture="all"):
        trainer.train()
    run = open_run(tmp_path / "run")
    samples = run.samples(step=2)

    assert len(samples) == 32
    columns = samples.columns
    for row in range(32):
        assert columns["reward"][row] == columns["reward/correct"][row] + columns["reward/shape"][row]
        assert len(columns["token_logprobs"][row]) == columns["completion_tokens"][row]
    assert run.column("reward_mean")[1] == pytest.approx(np.mean(columns["reward"]))
    assert run.metadata("kl_mean").estimator == "k3"
    assert run.manifest.settings["group_size"] == 8
    assert run.manifest.framework == "trl"
    json.dumps(dict(run.manifest.configuration))


def test_samples_of_an_evaluation_count_in_no_statistic_of_training(sorter: Path, tmp_path: Path) -> None:
    held_out = Dataset.from_dict({"prompt": questions(16, 99)})
    settings = {"eval_strategy": "steps", "eval_steps": 2, "per_device_eval_batch_size": 16}
    runs = []
    for name, extra in (("with", {"eval_dataset": held_out, **settings}), ("without", {})):
        trainer = build(sorter, tmp_path / name, CASES["healthy"], max_steps=2, **extra)
        with attach(trainer, tmp_path / f"{name}.run"):
            trainer.train()
        runs.append(open_run(tmp_path / f"{name}.run"))

    evaluated, plain = runs
    assert evaluated.logged("evaluation_score/reward").tolist() == [False, True]
    assert "evaluation" in evaluated.samples(step=2).columns["split"]
    for metric in ("samples_count", "reward_std_group_mean", "duplicate_fraction", "length_reward_correlation"):
        assert evaluated.column(metric)[1] == plain.column(metric)[1]
