"""The tap on a real Trainer of transformers, which knows nothing of it."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from time import sleep

import numpy as np
import pytest

from rlprobe import open_run
from rlprobe.integrations.tap import Tap, tap

MISSING = [name for name in ("torch", "transformers", "accelerate", "tensorboard") if find_spec(name) is None]

pytestmark = [pytest.mark.trl, pytest.mark.skipif(bool(MISSING), reason=f"needs {MISSING}")]
STEPS = 6


@pytest.fixture
def tapped(tmp_path: Path) -> Iterator[Tap]:
    """A tap that is closed afterwards."""
    opened = tap(tmp_path / "run")
    yield opened
    opened.close()


def trainer(folder: Path, **settings: object) -> "object":
    """A Trainer with a model of its own, which evaluates every third step."""
    import torch
    from transformers import Trainer, TrainingArguments

    from tests.integrations import tiny_model

    torch.set_num_threads(1)
    tokens = tiny_model.tokenizer()
    texts = [prompt + tiny_model.answer_of(prompt) for prompt in tiny_model.questions(16, seed=1)]
    rows = [{**tokens(text), "labels": tokens(text)["input_ids"]} for text in texts]
    given = {"max_steps": STEPS, "logging_steps": 1, "eval_strategy": "steps", "eval_steps": 3, "save_strategy": "no"}
    given |= {"per_device_train_batch_size": 4, "report_to": "none", "use_cpu": True, "disable_tqdm": True, **settings}
    arguments = TrainingArguments(output_dir=str(folder / "out"), **given)
    return Trainer(model=tiny_model.untaught(), args=arguments, train_dataset=rows, eval_dataset=rows[:4])


@pytest.mark.parametrize("report_to", ["none", "tensorboard"])
def test_what_a_trainer_logs_is_recorded_once_wherever_it_reports_to(
    tmp_path: Path, tapped: Tap, report_to: str
) -> None:
    training = trainer(tmp_path, report_to=report_to)
    training.train()
    tapped.close()

    run, history = open_run(tmp_path / "run"), training.state.log_history
    assert run.steps.tolist() == list(range(1, STEPS + 1))
    assert [path.name for path in tmp_path.glob("run*")] == ["run"]
    for metric in ("loss", "grad_norm", "learning_rate"):
        np.testing.assert_allclose(run.column(metric), [row[metric] for row in history if metric in row], rtol=1e-6)
    evaluated = run.column("eval_loss")
    kept = {int(step): float(value) for step, value in zip(run.steps, evaluated, strict=True) if value == value}
    assert kept == pytest.approx({row["step"]: row["eval_loss"] for row in history if "eval_loss" in row})
    assert {name.removeprefix("train/") for name in run.metrics} == set(run.metrics)
    assert run.manifest.settings["learning_rate"] == training.args.learning_rate


def test_a_halt_stops_a_trainer_that_is_only_tapped_with_a_checkpoint(tmp_path: Path, tapped: Tap) -> None:
    training = trainer(tmp_path, max_steps=100_000, eval_strategy="no", logging_steps=5)
    asking = Thread(target=ask_to_halt, args=[tmp_path / "run"])
    asking.start()
    training.train()
    asking.join()
    tapped.close()

    stopped = training.state.global_step
    assert stopped < 100_000
    assert (tmp_path / "out" / f"checkpoint-{stopped}").is_dir()
    (told,) = [event.fields["reason"] for event in open_run(tmp_path / "run").events if event.kind == "halt"]
    assert told == "enough"


def ask_to_halt(run: Path) -> None:
    """What a guardian does, once there is a recording."""
    while not (run / "manifest.json").exists():
        sleep(0.01)
    (run / "control.json").write_text('{"request": "halt", "reason": "enough"}')
