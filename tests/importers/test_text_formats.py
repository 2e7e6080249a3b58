"""Text formats on small logs: by their real writers where those run on one machine, else in the documented layout."""

import io
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from rlprobe.importers.rows import lines
from rlprobe.opening import UnreadableSource, open_run
from tests.support.logs import contents, logged_values

_SAMPLES = Path(__file__).parent / "samples"
_FORMATS = {
    "verl-console/ray.log": ("verl-console", "verl", 11),
    "verl-file/experiment.jsonl": ("verl-file", "verl", 11),
    "easyr1/experiment_log.jsonl": ("easyr1", "verl", 11),
    "trl-console/bar.log": ("trl-console", "trl", 20),
    "trl-console/no-bar.log": ("trl-console", "trl", 20),
    "trl-console/trl.log": ("trl-console", "trl", 6),
    "trainer-state": ("trainer-state", "trl", 6),
    "trainer-state/checkpoint-6/trainer_state.json": ("trainer-state", "trl", 3),
    "ms-swift": ("ms-swift", "trl", 14),
    "ms-swift/logging.jsonl": ("ms-swift", "trl", 14),
    "openrlhf-console/train.log": ("openrlhf-console", "openrlhf", 10),
    "slime-console/train.log": ("slime-console", "slime", 8),
    "deepspeed-chat-console/train.log": ("deepspeed-chat-console", "deepspeed-chat", 20),
    "notebook/train.ipynb.json": ("notebook", "trl", 10),
    "verl-rollouts": ("verl-rollouts", "", 3),
}


@pytest.mark.parametrize("name", _FORMATS)
def test_a_log_is_known_by_its_content_and_read_whole(tmp_path: Path, name: str) -> None:
    format, framework, rows = _FORMATS[name]
    source = _SAMPLES / name
    if source.is_file() and source.parent.name == format:  # a name that tells nothing, in a folder with its neighbours
        shutil.copytree(source.parent, tmp_path / "copy")
        source = (tmp_path / "copy" / source.name).rename(tmp_path / "copy" / "a log")

    run = open_run(source)

    assert (run.manifest.format, run.manifest.framework, run.rows) == (format, framework, rows)
    assert run.reading.unreadable == run.reading.bad_values == 0
    assert "not-to-be-kept" not in repr(run.manifest)


@pytest.mark.parametrize("name", [name for name in _FORMATS if (_SAMPLES / name).suffix in (".log", ".jsonl")])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_a_text_log_reads_the_same_in_every_encoding(tmp_path: Path, name: str, encoding: str) -> None:
    path = tmp_path / "log"
    path.write_bytes((_SAMPLES / name).read_bytes().decode().encode(encoding))

    assert contents(open_run(path)) == contents(open_run(_SAMPLES / name))


@pytest.mark.parametrize("name", [name for name in _FORMATS if (_SAMPLES / name).suffix in (".log", ".jsonl")])
def test_a_log_that_grows_in_pieces_is_the_log_read_at_once(tmp_path: Path, name: str) -> None:
    data = (_SAMPLES / name).read_bytes()
    path = tmp_path / "log"
    path.write_bytes(data[: len(data) // 2])
    grown = open_run(path)
    for cut in np.linspace(len(data) // 2, len(data), 9).astype(int)[1:].tolist():
        path.write_bytes(data[:cut])
        grown.refresh()

    whole = open_run(path)
    assert contents(grown) == contents(whole)
    assert grown.steps.tolist() == whole.steps.tolist()


def test_steps_of_a_transformers_console_come_from_the_bar_behind_each_row() -> None:
    bar, counted = open_run(_SAMPLES / "trl-console/bar.log"), open_run(_SAMPLES / "trl-console/no-bar.log")

    assert bar.steps.tolist() == list(range(10, 201, 10))
    assert counted.steps.tolist() == list(range(1, 21))
    assert any("counted" in note for note in counted.reading.notes)
    assert "logging_steps" not in counted.manifest.settings
    assert contents(bar)["reward_mean"][4][1] == contents(counted)["reward_mean"][4][1]


def test_rows_that_standard_output_kept_back_are_counted_and_not_given_a_bar_of_another_step(tmp_path: Path) -> None:
    bar = "\r{:3d}%|##  | {}/100 [00:01<00:01,  2.00it/s]"
    rows = [f"{{'loss': 0.{i}, 'reward': 0.{i}, 'epoch': 0.{i}}}\n" for i in range(1, 9)]
    path = tmp_path / "slurm.out"
    path.write_text(
        "".join(bar.format(i, i) for i in range(40))
        + "\n"
        + "".join(rows)
        + bar.format(41, 41)
        + "\nlogging_steps: 5\n"
    )

    assert open_run(path).steps.tolist() == list(range(1, 9))

    path.write_text("logging_steps=5\n" + path.read_text())
    assert open_run(path).steps.tolist() == list(range(5, 41, 5))


def test_every_spelling_of_nan_and_full_width_separators_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(
        "{'loss': 0.1, 'grad_norm': nan, 'reward': 1.0, 'epoch': 0.1}\n"
        "{'loss': '0.1', 'grad_norm': 'nan', 'reward': '1', 'epoch': '0.2'}\n"
        "{'loss': np.float64(0.1), 'grad_norm': np.float64(nan), 'reward': 1.0, 'epoch': 0.3}\n"
        "{'loss': 0.1, 'grad_norm': tensor(nan, device='cuda:0'), 'reward': 1.0, 'epoch': 0.4}\n"
        "{'loss'\uff1a 0.1\uff0c 'grad_norm'\uff1a -inf\uff0c 'reward'\uff1a 1.0\uff0c 'epoch'\uff1a 0.5}\n"
        "{'loss': 0.1, 'grad_norm': None, 'reward': 1.0, 'epoch': 0.6}\n",
        encoding="utf-8",
    )

    run = open_run(path)

    assert run.rows == 6
    assert [repr(value) for value in logged_values(run, "grad_norm").values()][:5] == ["nan"] * 4 + ["-inf"]


def test_evaluation_rows_join_their_step_and_the_summary_stays_out(tmp_path: Path) -> None:
    bar = "\r 50%|##  | {}/4 [00:01<00:01,  2.00it/s]"
    path = tmp_path / "log"
    path.write_text(
        bar.format(0)
        + "".join(
            f"{bar.format(step)}\r    \r{{'loss': 0.5, 'reward': 0.{step}, 'epoch': 0.{step}}}\n{bar.format(step)}"
            f"\r  0%|  | 0/9 [00:00<?, ?it/s]\r    \r{{'eval_reward': 0.9, 'epoch': 0.{step}}}\n{bar.format(step)}"
            for step in range(1, 5)
        )
        + "{'train_runtime': 9.0, 'train_loss': 0.5, 'epoch': 1.0}\n"
    )

    run = open_run(path)

    assert run.steps.tolist() == [1, 2, 3, 4]
    assert list(logged_values(run, "evaluation_score/reward")) == [1, 2, 3, 4]
    assert list(logged_values(run, "loss").values()) == [0.5] * 4


def test_a_row_that_another_rank_prints_again_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    rows = [f"{{'loss': 0.{i}, 'reward': 0.{i}, 'epoch': 0.{i}}}\n" for i in range(1, 6)]
    path.write_text("".join(f"[rank{rank}]: {row}" for row in rows for rank in range(4)))

    run = open_run(path)

    assert run.rows == 5
    assert any("15 rows were printed twice" in note for note in run.reading.notes)


def test_a_configuration_on_the_console_becomes_settings_without_its_secrets() -> None:
    verl = open_run(_SAMPLES / "verl-console/ray.log").manifest.settings
    trl = open_run(_SAMPLES / "trl-console/trl.log").manifest.settings

    assert (verl["clip_high"], verl["max_completion_tokens"], verl["group_size"]) == (0.28, 8192, 8)
    assert (trl["kl_coefficient"], trl["logging_steps"]) == (0.02, 2)
    assert open_run(_SAMPLES / "easyr1/experiment_log.jsonl").manifest.settings["group_size"] == 8
    assert open_run(_SAMPLES / "notebook/train.ipynb.json").manifest.settings["kl_coefficient"] == 0.04


def test_an_update_that_verl_skipped_is_an_event_of_its_step() -> None:
    run = open_run(_SAMPLES / "verl-console/ray.log")

    assert [(event.kind, event.step) for event in run.events] == [("non_finite", 7)]
    assert any("another process" in note for note in run.reading.notes)


def test_a_line_that_wandb_cut_loses_its_last_pair_only(tmp_path: Path) -> None:
    path = tmp_path / "output.log"
    start = "step:1 - actor/entropy:0.5 - critic/score/mean:0.25 - val-core/a:0.1 - "
    cut = (start + "x" * 4096)[: 4095 - 10] + ":0.12345 - z"
    whole = "step:2 - actor/entropy:0.4 - critic/score/mean:0.5\n"
    path.write_text(cut[:4095] + "\n" + whole)

    run = open_run(path)

    assert logged_values(run, "entropy_mean") == {1: 0.5, 2: 0.4}
    assert any("1 lines are cut" in note for note in run.reading.notes)
    assert run.reading.bad_values == 0


def test_keys_with_at_signs_parentheses_and_colons_keep_their_names(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("step:1 - actor/lr(1e-4):0.010 - val/a:b@8/mean:0.5 - critic/score/mean:np.float64(-1.5)\n" * 2)

    run = open_run(path)

    assert logged_values(run, "learning_rate") == {1: pytest.approx(1e-6)}
    assert logged_values(run, "val/a:b@8/mean") == {1: 0.5}
    assert logged_values(run, "reward_mean") == {1: -1.5}


def test_supervised_training_before_the_reinforcement_is_another_run_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    first = [f"step:{step} - train/loss:1.5\n" for step in range(1, 6)]
    second = [f"step:{step} - critic/score/mean:0.{step}\n" for step in range(4)]
    path.write_text("".join(first + second))

    assert open_run(path).steps.tolist() == [0, 1, 2, 3]
    assert open_run(path, run=1).rows == 5
    assert any("2 runs" in note for note in open_run(path).reading.notes)


def test_training_steps_of_slime_belong_to_the_rollout_before_them() -> None:
    run = open_run(_SAMPLES / "slime-console/train.log")

    assert run.steps.tolist() == list(range(8))
    assert list(logged_values(run, "grad_norm")) == list(range(8))
    assert logged_values(run, "evaluation_score/aime") == {7: 0.25}


def test_epochs_of_deepspeed_chat_follow_one_another() -> None:
    run = open_run(_SAMPLES / "deepspeed-chat-console/train.log")

    assert run.steps.tolist() == list(range(20))
    assert run.logged("reward_mean").all()


def test_the_newest_checkpoint_tells_the_run_and_a_newer_one_adds_rows(tmp_path: Path) -> None:
    shutil.copytree(_SAMPLES / "trainer-state" / "checkpoint-6", tmp_path / "out" / "checkpoint-6")
    run = open_run(tmp_path / "out")
    assert run.steps.tolist() == [2, 4, 6]

    shutil.copytree(_SAMPLES / "trainer-state" / "checkpoint-12", tmp_path / "out" / "checkpoint-12")
    run.refresh()
    assert run.steps.tolist() == [2, 4, 6, 8, 10, 12]


@pytest.mark.parametrize(
    ("name", "step", "count"), [("trainer-state", 2, 32), ("ms-swift", 20, 4), ("verl-rollouts", 3, 8)]
)
def test_samples_beside_a_log_belong_to_its_steps(name: str, step: int, count: int) -> None:
    run = open_run(_SAMPLES / name)
    samples = run.samples(step=step)

    assert len(samples) == count
    assert set(np.asarray(samples.columns["step"]).tolist()) == {step}
    assert all(isinstance(text, str) and text for text in samples.columns["completion"])  # type: ignore[attr-defined]  # a list
    assert len(run.samples()) > count
    assert set(run.samples(columns=("step",)).columns) == {"step"}


def test_verl_rollouts_tell_the_rewards_of_each_step_and_the_newest_file_waits_until_it_is_whole(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "rollouts"
    shutil.copytree(_SAMPLES / "verl-rollouts", folder)
    whole = (folder / "3.jsonl").read_bytes()
    (folder / "3.jsonl").write_bytes(whole[:-20])
    run = open_run(folder)
    assert run.steps.tolist() == [1, 2]
    scores = [json.loads(line)["score"] for line in (folder / "1.jsonl").read_text().splitlines()]
    assert logged_values(run, "reward_mean")[1] == pytest.approx(np.mean(scores))

    (folder / "3.jsonl").write_bytes(whole)
    run.refresh()
    assert run.steps.tolist() == [1, 2, 3]


def test_any_run_of_a_notebook_can_be_asked_for() -> None:
    last, first = (open_run(_SAMPLES / "notebook/train.ipynb.json", run=run) for run in (None, 1))

    assert (last.rows, first.rows) == (10, 4)
    assert any("2 runs are shown" in note for note in last.reading.notes)
    with pytest.raises(UnreadableSource, match="got 3"):
        open_run(_SAMPLES / "notebook/train.ipynb.json", run=3)


def test_a_cell_without_a_log_is_not_logged() -> None:
    run = open_run(_SAMPLES / "notebook/train.ipynb.json")

    assert int(run.logged("kl_mean").sum()) == 9


def test_a_log_from_standard_input_is_the_log_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    path = _SAMPLES / "verl-console/ray.log"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))

    run = open_run("-")

    assert run.source == "-"
    assert contents(run) == contents(open_run(path))


def test_an_unreadable_standard_input_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"hello\n")))

    with pytest.raises(UnreadableSource, match=r"^-: expected") as caught:
        open_run("-")
    assert len(str(caught.value).splitlines()) == 1


def test_a_console_that_begins_with_much_other_text_is_still_known(tmp_path: Path) -> None:
    path = tmp_path / "log"
    noise = "(WorkerDict pid=1) loading weights, please wait\n" * 20_000
    path.write_text(noise + "step:1 - critic/score/mean:0.5 - actor/entropy:0.4\n")

    assert open_run(path).manifest.format == "verl-console"


def test_a_wrong_file_names_the_format_whose_words_it_has(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("(TaskRunner pid=1) verl 0.9.1\nloading actor/ and critic/ weights\n")

    with pytest.raises(UnreadableSource, match="Closest is verl-console"):
        open_run(path)


def test_a_printed_value_is_never_evaluated(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    path = tmp_path / "log"
    path.write_text(
        f"GRPOConfig(\nbeta=__import__('pathlib').Path('{trap}').touch(),\nepsilon=0.3,\n)\n"
        f"{{'loss': open('{trap}', 'w'), 'reward': 0.5, 'epoch': 0.1}}\n"
        "{'loss': 0.1, 'reward': 0.5, 'epoch': 0.2}\n"
    )

    run = open_run(path)

    assert not trap.exists()
    assert run.manifest.settings["clip_low"] == 0.3
    assert run.rows == 2


@pytest.mark.parametrize(
    "name", ["verl-console/ray.log", "trl-console/trl.log", "openrlhf-console/train.log", "slime-console/train.log"]
)
def test_a_cut_last_row_is_left_out_and_counted(tmp_path: Path, name: str) -> None:
    data = (_SAMPLES / name).read_bytes()
    rows = open_run(_SAMPLES / name).rows
    last = max(data.rfind(mark) for mark in (b"step:11 - ", b"{'loss'", b"Global step 10: {", b"eval 7: {"))
    path = tmp_path / "log"
    path.write_bytes(data[: last + 20])

    run = open_run(path)

    assert run.reading.unreadable == 1
    assert rows - 1 <= run.rows <= rows


def test_long_lines_are_handed_out_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_MAX_HELD", 1)
    path = tmp_path / "log"
    path.write_bytes(b"".join(bytes([65 + place]) * 700_000 + b"\n" for place in range(6)))
    source = lines.LineSource(path)

    taken = [[line[:1] for line in each] for each in iter(lambda: source.take(4096), [])]

    assert max(map(len, taken)) < 3
    assert b"".join(letter for each in taken for letter in each) == b"ABCDEF"


@pytest.mark.parametrize("name", ["verl-console/ray.log", "verl-file/experiment.jsonl"])
def test_rollouts_in_a_folder_beside_a_log_of_verl_are_its_samples(tmp_path: Path, name: str) -> None:
    shutil.copy(_SAMPLES / name, tmp_path / "log")
    shutil.copytree(_SAMPLES / "verl-rollouts", tmp_path / "rollouts")
    shutil.copytree(_SAMPLES / "verl-rollouts", tmp_path / "validation")

    run = open_run(tmp_path / "log")

    assert run.rows == 11
    assert len(run.samples(step=2)) == 8
    assert len(run.samples()) == 24


def test_a_configuration_on_one_line_becomes_settings(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(
        "Namespace(init_kl_coef=0.01, n_samples_per_prompt=8, wandb_api_key='not-to-be-kept', eps_clip=0.2)\n"
        "Global step 1: {'policy_loss': 0.1, 'actor_lr': 1e-06, 'reward': 0.5}\n"
    )

    settings = open_run(path).manifest.settings

    assert (settings["kl_coefficient"], settings["group_size"], settings["clip_low"]) == (0.01, 8, 0.2)


@pytest.mark.parametrize("separator", ["\t", " | ", "   "], ids=["tabs", "bars", "blanks"])
def test_a_table_in_a_notebooks_text_is_read(tmp_path: Path, separator: str) -> None:
    lines = [
        separator.join(cells)
        for cells in (("Step", "Training Loss", "reward"), ("10", "0.1", "0.5"), ("20", "0.2", "0.7"))
    ]
    output = {"output_type": "stream", "name": "stdout", "text": "start\n" + "\n".join(lines) + "\nend\n"}
    cell = {"cell_type": "code", "source": "trainer.train()", "outputs": [output]}
    path = tmp_path / "notebook"
    path.write_text(json.dumps({"cells": [cell], "nbformat": 4}))

    assert logged_values(open_run(path), "reward_mean") == {10: 0.5, 20: 0.7}


def test_rows_that_a_notebook_printed_are_read(tmp_path: Path) -> None:
    output = {"output_type": "stream", "text": (_SAMPLES / "trl-console/bar.log").read_text().splitlines(keepends=True)}
    path = tmp_path / "notebook"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": [], "outputs": [output]}], "nbformat": 4}))

    assert contents(open_run(path)) == contents(open_run(_SAMPLES / "trl-console/bar.log"))


def test_rows_of_ms_swift_on_the_console_have_their_own_step(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(
        "".join(f"{{'loss': 0.1, 'reward': 0.{i}, 'global_step/max_steps': '{i * 5}/438'}}\n" for i in range(1, 5))
    )

    assert open_run(path).steps.tolist() == [5, 10, 15, 20]


def test_lines_of_json_that_end_in_a_summary_with_every_row_are_no_trainer_state(tmp_path: Path) -> None:
    rows = [{"step": step, "reward": step / 4} for step in range(4)]
    path = tmp_path / "log"
    path.write_text("".join(json.dumps(each) + "\n" for each in [*rows, {"global_step": 3, "log_history": rows}]))

    run = open_run(path)

    assert (run.manifest.format, run.rows) == ("jsonl", 4)
