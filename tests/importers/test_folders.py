"""Folders: which run is taken and why, and the log folders of single trainers."""

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.cli import main
from rlprobe.importers.folders import listing
from rlprobe.opening import UnreadableSource, open_run
from tests.support import binary_writers
from tests.support.logs import logged_values, write_rows

_ROWS = [{"step": step, "reward": step / 8} for step in range(4)]


def _aged(path: Path, age: int) -> Path:
    os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    return path


def _notes(source: Path, **options: int) -> str:
    return " ".join(open_run(source, **options).reading.notes)


def test_the_newest_of_several_logs_is_read_and_all_are_listed(tmp_path: Path) -> None:
    for age, name in enumerate(("c", "b", "a")):
        (tmp_path / name).mkdir()
        _aged(write_rows(tmp_path / name / "log.jsonl", [{"step": 1, "reward": float(age)}]), age)

    assert logged_values(open_run(tmp_path), "reward_mean") == {1: 0.0}
    assert logged_values(open_run(tmp_path, run=1), "reward_mean") == {1: 2.0}
    assert "3 runs of format jsonl, oldest first (1: a/log.jsonl, 2: b/log.jsonl, 3: c/log.jsonl)" in _notes(tmp_path)
    assert "the newest is read: c/log.jsonl" in _notes(tmp_path)
    assert "run 2 is read: b/log.jsonl" in _notes(tmp_path, run=2)


def test_a_run_number_beyond_the_runs_is_answered_with_the_list(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_rows(tmp_path / f"{name}.jsonl", _ROWS)

    with pytest.raises(UnreadableSource, match=re.escape("expected a run number from 1 to 2, got 5. There are 2 runs")):
        open_run(tmp_path, run=5)


def test_the_format_that_tells_most_is_taken_and_the_others_are_named(tmp_path: Path) -> None:
    binary_writers.wandb(tmp_path / "offline-run-1", _ROWS)
    binary_writers.tensorboard(tmp_path / "runs", _ROWS)
    write_rows(tmp_path / "log.jsonl", _ROWS)

    run = open_run(tmp_path)

    assert run.manifest.format == "wandb"
    assert "offline-run-1 (wandb) is read of this folder." in run.reading.notes
    assert any("also holds jsonl, tensorboard" in note for note in run.reading.notes)


def test_runs_of_any_format_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    binary_writers.wandb(tmp_path / "a", _ROWS)
    binary_writers.tensorboard(tmp_path / "b", _ROWS)
    binary_writers.trackio(tmp_path / "c.db", _ROWS)

    assert main(["ls", str(tmp_path), "--json"]) == 0
    formats = [run["format"] for run in json.loads(capsys.readouterr().out)["runs"]]
    assert formats == ["trackio", "wandb", "tensorboard"]


def test_what_is_no_log_of_metrics_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{\n "vocabulary": 5,\n "layers": 3\n}')
    (tmp_path / "README.md").write_text("# Hello, world\n")
    (tmp_path / "data.csv").write_text("name,age\nA,3\n")
    (tmp_path / "weights.bin").write_bytes(bytes(range(256)) * 8)
    write_rows(tmp_path / "log.jsonl", _ROWS)

    run = open_run(tmp_path)

    assert run.rows == 4
    assert not any("also holds" in note for note in run.reading.notes)


def test_no_link_is_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    write_rows(outside / "log.jsonl", _ROWS)
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "folder").symlink_to(outside)
    (inside / "file.jsonl").symlink_to(outside / "log.jsonl")
    (inside / "loop").symlink_to(inside)

    with pytest.raises(UnreadableSource, match="got a folder with"):
        open_run(inside)
    assert open_run(inside / "folder").rows == 4  # named itself, it is read


def test_a_folder_without_end_is_cut_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MAX_ENTRIES", 50)
    write_rows(tmp_path / "log.jsonl", _ROWS)
    for number in range(60):
        (tmp_path / "many" / str(number) / "deep").mkdir(parents=True)

    assert any("the rest was not looked at" in note for note in open_run(tmp_path).reading.notes)


def test_foreign_keys_are_named_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.csv"
    log.write_text("step,my_score\n" + "".join(f"{step},{step / 8}\n" for step in range(9)))

    assert main(["import", str(log), str(tmp_path / "run"), "--map", "my_score=reward_mean"]) == 0
    assert logged_values(open_run(tmp_path / "run"), "reward_mean")[4] == 0.5
    assert "9 rows" in capsys.readouterr().out


def _tinker(folder: Path) -> Path:
    rows = [{"step": step, "env/all/reward/total": step / 8, "optim/lr": 1e-5} for step in range(4)]
    write_rows(folder / "metrics.jsonl", rows)
    write_rows(folder / "metrics.jsonl.pre_resume_000003", rows[:3])
    folder.joinpath("config.json").write_text(json.dumps({"learning_rate": 1e-5, "group_size": 16}))
    return folder


def test_tinkers_folder_is_read_with_its_configuration_and_without_what_a_resume_took_back(tmp_path: Path) -> None:
    run = open_run(_tinker(tmp_path))

    assert run.manifest.format == run.manifest.framework == "tinker"
    assert run.manifest.settings["group_size"] == 16
    assert logged_values(run, "reward_mean") == {step: step / 8 for step in range(4)}
    assert any("metrics.jsonl.pre_resume_000003" in note for note in run.reading.notes)


def _episode(reward: float, tokens: int, *, step: int | None = None) -> dict[str, object]:
    """An episode as verifiers writes it."""
    nodes = [
        {"message": {"role": "user", "content": "2 + 2?"}, "sampled": False, "mask": [False] * 3},
        {
            "message": {"role": "assistant", "content": "4" * tokens},
            "sampled": True,
            "mask": [False, *[True] * tokens],
            "logprobs": [-0.5] * tokens,
            "advantages": [reward - 0.5] * tokens,
        },
    ]
    trace = {
        "nodes": nodes,
        "rewards": {"right": {"score": reward, "weight": 1.0}, "style": {"score": 1.0, "weight": 0.5}, "late": None},
        "calls": [{"finish_reason": "length" if tokens > 3 else "stop"}],
    }
    run = {} if step is None else {"run": {"type": "train", "id": "r", "work": {"type": "train", "step": step}}}
    return {"id": "e", "task": {"type": "T", "data": {}}, "group": {"id": "g"}, "traces": [trace], **run}


def _prime_rl(folder: Path) -> Path:
    for component, keys in (
        ("trainer", ("loss/mean", "entropy/all/mean")),
        ("orchestrator", ("train/agg/all/x/reward/mean",)),
    ):
        (folder / component).mkdir(parents=True)
        rows = [{"step": step, "time": 1.7e9 + step, key: step / 8} for step in range(4) for key in keys]
        write_rows(folder / component / "metrics.jsonl", rows)
    for step in range(4):
        place = folder / "rollouts" / f"step_{step}" / "train" / "effective"
        place.mkdir(parents=True)
        write_rows(place / "traces.jsonl", [_episode(0.0, 2), _episode(1.0, 4)])
    return folder


def test_prime_rls_trainer_and_orchestrator_are_merged_by_step_and_its_rollouts_are_samples(tmp_path: Path) -> None:
    run = open_run(_prime_rl(tmp_path))

    assert run.manifest.format == run.manifest.framework == "prime-rl"
    assert run.steps.tolist() == [0, 1, 2, 3]
    for name in ("loss", "entropy_mean", "reward_mean"):
        assert logged_values(run, name) == {step: step / 8 for step in range(4)}
    samples = run.samples(step=2)
    assert list(samples.columns["reward"]) == [0.5, 1.5]
    assert list(samples.columns["completion_tokens"]) == [2, 4]
    assert list(samples.columns["truncated"]) == [False, True]
    assert list(samples.columns["sampler_logprob"]) == [-0.5, -0.5]
    assert list(samples.columns["prompt"]) == ["user: 2 + 2?"] * 2
    assert len(run.samples()) == 8


def test_verifiers_episodes_make_a_row_a_step(tmp_path: Path) -> None:
    path = write_rows(
        tmp_path / "traces.jsonl", [_episode(1.0, 4, step=3), _episode(0.0, 2, step=3), _episode(1.0, 2, step=7)]
    )
    with path.open("a") as file:
        file.write('{"id": "torn", "traces": [')

    run = open_run(path)

    assert run.manifest.format == "verifiers"
    assert logged_values(run, "reward_mean") == {3: 1.0, 7: 1.5}
    assert logged_values(run, "reward_component_mean/right") == {3: 0.5, 7: 1.0}
    assert logged_values(run, "truncated_fraction") == {3: 0.5, 7: 0.0}
    assert len(run.samples(step=3)) == 2
    assert run.reading.unreadable == 1


def _nemo_rl(folder: Path) -> Path:
    for step in (1, 2):
        rows = [
            {
                "content": f"text {sample}",
                "rewards": float(sample),
                "token_ids": [1, 2, 3],
                "token_loss_mask": [0, 1, 1],
                "generation_logprobs": [0.0, -0.5, -1.5],
                "prev_logprobs": [0.0, -0.5, -1.0],
                "advantages": [0.0, 0.5, 0.5],
                "idx": sample,
            }
            for sample in range(3)
        ]
        write_rows(folder / f"train_data_step{step}.jsonl", rows)
    return folder


def test_nemo_rls_samples_stand_beside_its_tensorboard(tmp_path: Path) -> None:
    rows = [{"step": step, "train/reward": 1.0, "train/loss": 0.25} for step in (1, 2, 3)]
    (tmp_path / "exp_001").mkdir()
    binary_writers.tensorboard(_nemo_rl(tmp_path / "exp_001") / "tensorboard", rows)

    run = open_run(tmp_path)

    assert logged_values(run, "loss") == {1: 0.25, 2: 0.25, 3: 0.25}
    samples = run.samples(step=2)
    assert list(samples.columns["sampler_logprob"]) == [-1.0] * 3
    assert list(samples.columns["old_logprob"]) == [-0.75] * 3
    assert list(samples.columns["completion_tokens"]) == [2, 2, 2]


def test_nemo_rls_samples_alone_make_the_rows(tmp_path: Path) -> None:
    run = open_run(_nemo_rl(tmp_path))

    assert run.manifest.format == "nemo-rl"
    assert logged_values(run, "reward_mean") == {1: 1.0, 2: 1.0}
    assert logged_values(run, "reward_max") == {1: 2.0, 2: 2.0}


_KEYS = [
    *("traces", "task", "nodes", "message", "sampled", "mask", "logprobs", "rewards", "score", "calls", "run", "work"),
    *("step", "finish_reason", "token_loss_mask", "generation_logprobs", "content", "advantages", "group", "id"),
]
_JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=6),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None)
@given(junk=_JUNK)
def test_samples_of_any_shape_are_read_or_counted(tmp_path_factory: pytest.TempPathFactory, junk: object) -> None:
    folder = tmp_path_factory.mktemp("log")
    held = junk if isinstance(junk, dict) else {"nodes": junk}
    good = _episode(1.0, 2)
    write_rows(folder / "traces.jsonl", [good, {**good, "traces": [held, junk]}, {**good, "run": junk, "group": junk}])
    (folder / "nemo").mkdir()
    _nemo_rl(folder / "nemo")
    write_rows(folder / "nemo" / "train_data_step3.jsonl", [{"rewards": 1.0, **held}])

    for source in (folder / "traces.jsonl", folder / "nemo"):
        run = open_run(source)
        assert run.rows >= 1
        assert len(run.samples()) >= 1


@pytest.mark.parametrize("make", [_tinker, _prime_rl, _nemo_rl])
def test_a_growing_folder_is_read_on(tmp_path: Path, make: object) -> None:
    run = open_run(make(tmp_path))  # type: ignore[operator]  # one of the makers above
    before = run.rows
    for path in tmp_path.rglob("metrics.jsonl"):
        last = json.loads(path.read_text().splitlines()[-1])
        with path.open("a") as file:
            file.write(json.dumps({**last, "step": 9}) + "\n")
    if make is _nemo_rl:
        (tmp_path / "train_data_step9.jsonl").write_bytes((tmp_path / "train_data_step2.jsonl").read_bytes())

    run.refresh()

    assert run.rows == before + 1
    assert run.steps[-1] == 9
