import json
import os
from pathlib import Path

import pytest

from rlprobe.opening import UnreadableSource, open_run
from tests.support.logs import logged_values, write_rows


def _refusal(source: Path, **options: object) -> str:
    with pytest.raises(UnreadableSource) as caught:
        open_run(source, **options)  # type: ignore[arg-type]  # options of open_run
    text = str(caught.value)
    assert len(text.splitlines()) == 1
    return text


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    assert "got nothing" in _refusal(tmp_path / "nowhere")


def test_a_folder_that_is_no_recording_is_told_by_what_lies_in_it(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")

    assert "notes.txt" in _refusal(tmp_path)


def test_a_recording_opens_as_the_run_that_was_recorded(tmp_path: Path) -> None:
    recorder = pytest.importorskip("rlprobe.recorder.recorder")
    with recorder.Recorder(tmp_path / "run") as recording:
        recording.log_step(1, {"reward_mean": 0.5})

    assert logged_values(open_run(tmp_path / "run"), "reward_mean") == {1: 0.5}


def test_an_empty_folder_is_told_as_such(tmp_path: Path) -> None:
    assert "nothing" in _refusal(tmp_path)


@pytest.mark.parametrize("data", [b"", b" \n\n"])
def test_an_empty_file_is_told_as_such(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "log").write_bytes(data)

    assert "empty file" in _refusal(tmp_path / "log")


def test_binary_data_are_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(bytes(range(256)) * 20)

    assert "binary data" in _refusal(tmp_path / "model.bin")


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert "another kind of path" in _refusal(tmp_path / "pipe")


def test_prose_is_refused_with_what_was_expected_and_the_closest_format(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("# A project\n\nIt trains models.\n")

    text = _refusal(tmp_path / "README")

    assert "# A project" in text
    assert "Closest is csv" in text


def test_objects_without_numbers_hold_no_run(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "log.jsonl", [{"prompt": "a", "completion": "b"}])

    assert "got none" in _refusal(path)


def test_a_misspelled_canonical_name_is_corrected(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "log.jsonl", [{"score": 1.0}])

    assert "Did you mean reward_mean?" in _refusal(path, keys={"score": "rewards_mean"})


def test_csv_is_read_like_the_same_rows_as_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("step,reward,kl,run\n1,0.5,nan,a\n2,0.75,,a\nbroken,line,with,too,many\n3,1.0,0.1,a\n")

    run = open_run(path)

    assert run.manifest.format == "csv"
    assert logged_values(run, "reward_mean") == {1: 0.5, 2: 0.75, 3: 1.0}
    assert sorted(logged_values(run, "kl_mean")) == [1, 3]
    assert run.reading.unreadable == 1


def test_a_csv_line_without_an_end_is_left_out_because_it_may_be_cut(tmp_path: Path) -> None:
    path = tmp_path / "log.tsv"
    path.write_text("step\treward\n1\t0.5\n2\t0.7")

    run = open_run(path)

    assert run.steps.tolist() == [1]
    assert run.reading.unreadable == 1


def test_trainer_state_gives_its_rows_and_its_settings(tmp_path: Path) -> None:
    path = tmp_path / "trainer_state.json"
    history = [
        {"step": 10, "reward": 0.1, "kl": float("nan")},
        {"step": 20, "reward": 0.2},
        {"step": 20, "train_runtime": 9.0},
    ]
    path.write_text(
        json.dumps({"best_metric": None, "log_history": history, "logging_steps": 10, "max_steps": 20}, indent=2)
    )

    run = open_run(path)

    assert run.manifest.format == "json"
    assert logged_values(run, "reward_mean") == {10: 0.1, 20: 0.2}
    assert run.manifest.settings["max_steps"] == 20
    assert "logging_steps" not in run.manifest.inferred_settings


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    "document",
    [
        [{"step": 1, "reward": 0.5}, {"step": 2, "reward": 0.75}],
        {"step": [1, 2], "reward": [0.5, 0.75], "name": "x"},
        {"config": {"lr": 1e-6}, "metrics": [{"step": 1, "reward": 0.5}, {"step": 2, "reward": 0.75}]},
    ],
    ids=["list", "lists", "held"],
)
def test_one_document_of_rows_is_read(tmp_path: Path, document: object, indent: int | None) -> None:
    (tmp_path / "log.json").write_text(json.dumps(document, indent=indent))

    assert logged_values(open_run(tmp_path / "log.json"), "reward_mean") == {1: 0.5, 2: 0.75}


def test_a_configuration_in_the_first_row_is_taken_without_its_secrets(tmp_path: Path) -> None:
    config = {"beta": 0.04, "num_generations": 8, "learning_rate": 1e-6, "wandb_api_key": "abc"}
    path = write_rows(tmp_path / "log.jsonl", [{"config": config}, {"step": 1, "reward": 0.5, "reward_std": 0.1}])

    run = open_run(path)

    assert run.steps.tolist() == [1]
    assert run.manifest.settings["kl_coefficient"] == 0.04
    assert run.manifest.settings["group_size"] == 8
    assert "abc" not in repr(run.manifest)
