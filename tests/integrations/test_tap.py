"""The tap's own laws, on a real SummaryWriter and on modules that are imported from a folder."""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import rlprobe
from rlprobe import Recorder, open_run
from rlprobe.integrations import import_hooks
from rlprobe.integrations.import_hooks import forget, when_imported
from rlprobe.integrations.naming import Naming
from rlprobe.integrations.tap import Tap, tap

pytestmark = pytest.mark.skipif(find_spec("tensorboardX") is None, reason="needs tensorboardX")


@pytest.fixture
def tapped(tmp_path: Path) -> Iterator[Tap]:
    """A tap that is closed afterwards."""
    opened = tap(tmp_path / "run")
    yield opened
    opened.close()


def writer_into(folder: Path) -> "object":
    """A real writer of tensorboardX."""
    from tensorboardX import SummaryWriter

    return SummaryWriter(str(folder), flush_secs=3600)


def test_what_a_writer_is_handed_is_recorded_and_written_all_the_same(tmp_path: Path, tapped: Tap) -> None:
    writer = writer_into(tmp_path / "tensorboard")
    for step in range(3):
        writer.add_scalar("actor/entropy", 1.0 - step / 10, step)
        writer.add_scalars("critic/score", {"mean": step}, global_step=step)
    writer.close()
    tapped.close()

    recorded, written = open_run(tmp_path / "run"), open_run(tmp_path / "tensorboard")
    assert recorded.manifest.framework == "verl"
    for metric in ("entropy_mean", "reward_mean"):
        assert recorded.column(metric).tolist() == pytest.approx([1.0, 0.9, 0.8] if "entropy" in metric else [0, 1, 2])
    assert written.column("entropy_mean").tolist() == pytest.approx([1.0, 0.9, 0.8])


def test_one_tag_of_writers_into_several_folders_is_several_metrics(tmp_path: Path, tapped: Tap) -> None:
    writers = {name: writer_into(tmp_path / "tb" / name) for name in ("train", "validation", "train/slow")}
    for step in range(2):
        for number, writer in enumerate(writers.values()):
            writer.add_scalar("loss", number + step / 10, step)
    for writer in writers.values():
        writer.close()
    tapped.close()

    run = open_run(tmp_path / "run")
    found = {name: run.column(name).tolist() for name in run.metrics if name != "wall_time"}
    assert found == {"loss": [0, 0.1], "validation/loss": [1, 1.1], "slow/loss": [2, 2.1]}


def test_closing_gives_the_loggers_their_methods_back(tmp_path: Path) -> None:
    from tensorboardX import SummaryWriter

    before = SummaryWriter.add_scalar
    opened = tap(tmp_path / "run")
    during = SummaryWriter.add_scalar
    opened.close()

    assert during is not before
    assert SummaryWriter.add_scalar is before


def test_a_second_tap_is_the_first(tmp_path: Path, tapped: Tap) -> None:
    assert rlprobe.tap(tmp_path / "other") is tapped


def test_a_process_that_logs_nothing_makes_no_recording(tmp_path: Path, tapped: Tap) -> None:
    tapped.close()

    assert not (tmp_path / "run").exists()


def test_a_failure_in_the_tap_is_told_once_and_the_logger_goes_on(tmp_path: Path, tapped: Tap) -> None:
    (tmp_path / "run").write_text("a file where the recording should be")
    writer = writer_into(tmp_path / "tensorboard")
    for step in range(3):
        writer.add_scalar("loss", 0.5, step)
    writer.close()

    assert open_run(tmp_path / "tensorboard").column("loss").tolist() == [0.5] * 3


def test_the_tap_stays_out_where_a_recorder_records_already(tmp_path: Path, tapped: Tap) -> None:
    with Recorder(tmp_path / "own") as recorder:
        recorder.log_step(1, loss=0.5)
        writer = writer_into(tmp_path / "tensorboard")
        writer.add_scalar("loss", 0.5, 1)
        writer.close()

    assert not (tmp_path / "run").exists()


def test_another_run_of_a_logger_is_another_recording(tmp_path: Path, tapped: Tap) -> None:
    for name, loss in (("first", 1.0), ("second", 2.0)):
        tapped.take("wandb", {"loss": loss}, count=0, run=name)
        tapped.finished("wandb", name)
    tapped.close()

    assert open_run(tmp_path / "run").column("loss").tolist() == [1.0]
    assert open_run(tmp_path / "run-2").column("loss").tolist() == [2.0]


def test_what_is_known_of_a_run_before_its_first_number_is_that_runs(tmp_path: Path, tapped: Tap) -> None:
    for name in ("first", "second"):
        tapped.describe("mlflow", {"name": name}, name)
        tapped.take("mlflow", {"loss": 1.0}, step=1, run=name)
        tapped.describe("mlflow", {"name": "nested"}, "beside")
        tapped.finished("mlflow", name)
    tapped.close()

    configurations = [open_run(tmp_path / folder).manifest.configuration for folder in ("run", "run-2")]
    assert configurations == [{"name": "first"}, {"name": "second"}]


def test_of_two_runs_at_once_the_first_is_recorded(
    tmp_path: Path, tapped: Tap, caplog: pytest.LogCaptureFixture
) -> None:
    for step in range(2):
        tapped.take("wandb", {"loss": 1.0 + step}, count=step, run="first", config=lambda: {"seed": 1})
        tapped.take("wandb", {"loss": 9.0}, count=step, run="second", config=lambda: {"seed": 2})
    tapped.finished("wandb", "second", lambda: {"seed": 2})
    tapped.take("wandb", {"loss": 3.0}, count=2, run="first")
    tapped.close()

    recorded = open_run(tmp_path / "run")
    assert recorded.column("loss").tolist() == [1.0, 2.0, 3.0]
    assert recorded.manifest.configuration == {"seed": 1}
    assert [path.name for path in tmp_path.glob("run*")] == ["run"]
    assert caplog.text.count("wandb has two runs at once in this process; the first alone is recorded") == 1


@pytest.mark.parametrize(
    ("rows", "steps"),
    [
        ([({}, 0, None), ({}, 1, None)], [0, 1]),  # the logger's count
        ([({}, 10, 10), ({}, 11, None)], [10, 11]),  # which goes on from a step that was named
        ([({"train/global_step": 30}, 0, None), ({}, 1, None)], [30, 30]),  # the trainer's own step outweighs it
        ([({"train/global_step": 30}, 7, 7), ({}, 8, None)], [7, 8]),
        ([({}, None, "x"), ({}, None, np.int64(3))], [0, 3]),
    ],
)
def test_a_rows_step(
    tmp_path: Path, tapped: Tap, rows: list[tuple[dict[str, float], int | None, object]], steps: list[int]
) -> None:
    for number, (row, count, named) in enumerate(rows):
        tapped.take("wandb", {**row, f"value_{number}": 1.0}, step=named, count=count)
    tapped.close()

    recorded = open_run(tmp_path / "run")
    found = [recorded.steps[~np.isnan(recorded.column(f"value_{number}"))].tolist() for number in range(len(rows))]
    assert found == [[step] for step in steps]


@pytest.mark.slow
def test_a_directory_that_another_process_records_into_is_left_to_it(tmp_path: Path) -> None:
    script = "import sys; from rlprobe.integrations.tap import Tap; from pathlib import Path\n"
    script += "taps = Tap(Path(sys.argv[1])); taps.take('own', {'loss': 1.0}, step=1)\n"
    script += "print('open', flush=True); sys.stdin.read(); taps.close()"
    words = [sys.executable, "-c", script, str(tmp_path / "run")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        mine = Tap(tmp_path / "run")
        mine.take("own", {"loss": 2.0}, step=1)
        mine.close()
        other.communicate()

    assert open_run(tmp_path / "run").column("loss").tolist() == [1.0]
    assert open_run(tmp_path / "run-2").column("loss").tolist() == [2.0]


@pytest.mark.parametrize("tell", [["slack"], ["wandb", "nobody"], "everywhere"])
def test_telling_a_logger_that_is_none_is_refused(tmp_path: Path, tell: list[str]) -> None:
    with pytest.raises(ValueError, match="expected names among wandb, tensorboard, trackio"):
        tap(tmp_path / "run", tell=tell)


# import hooks


@pytest.fixture
def module_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module that can be imported once."""
    name = f"logger_{os.getpid()}_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name
    sys.modules.pop(name, None)


def test_a_module_is_told_of_when_it_has_run_and_its_loader_is_as_it_was(module_on_path: str) -> None:
    seen: list[object] = []
    when_imported(module_on_path, lambda module: seen.append(module.VALUE))

    module = import_module(module_on_path)

    assert seen == [1]
    assert "exec_module" not in vars(module.__spec__.loader)
    assert import_hooks._FINDER not in sys.meta_path


def test_a_callback_that_fails_costs_the_import_nothing(module_on_path: str, caplog: pytest.LogCaptureFixture) -> None:
    def fails(module: object) -> None:
        raise OSError("the disk is full")

    when_imported(module_on_path, fails)

    assert import_module(module_on_path).VALUE == 1
    assert f"{module_on_path} is not recorded (OSError: the disk is full)" in caplog.text


def test_a_module_that_is_there_is_told_of_at_once() -> None:
    seen: list[object] = []
    when_imported("json", seen.append)

    assert seen == [sys.modules["json"]]


def test_who_forgets_is_not_called(module_on_path: str) -> None:
    seen: list[object] = []
    when_imported(module_on_path, seen.append)
    forget(seen.append)

    import_module(module_on_path)

    assert seen == []


def test_a_module_that_fails_fails_as_without_hooks(module_on_path: str, tmp_path: Path) -> None:
    (tmp_path / f"{module_on_path}.py").write_text("raise ValueError('its own')\n")
    seen: list[object] = []
    when_imported(module_on_path, seen.append)

    for _ in range(2):
        with pytest.raises(ValueError, match="its own"):
            import_module(module_on_path)
    forget(seen.append)

    assert seen == []


# names


def test_of_two_spellings_the_better_has_the_metric_and_both_are_kept() -> None:
    naming = Naming("openrlhf")

    first = naming.canonical({"reward": 1.0})
    later = naming.canonical({"rollout/reward_mean": 2.0, "reward": 1.0})

    assert first == {"reward_mean": 1.0}
    assert later == {"reward_mean": 2.0, "reward": 1.0}


def test_steps_texts_and_summaries_are_no_metrics() -> None:
    naming = Naming()

    assert naming.canonical({"step": 3, "loss": 0.5, "note": "text", "chart": object()}) == {"loss": 0.5}
    assert naming.canonical({"train_runtime": 12.0, "train_loss": 0.1}) == {}
