import json
from collections import Counter
from pathlib import Path

import pytest

from rlprobe.cli import main
from tests.cli.test_doctor import learning, log


def test_a_step_is_shown_with_the_value_before_it(tmp_path, capsys):
    source = log(tmp_path / "log.jsonl", [{"step": step, "reward": step / 10, "loss": 1.0} for step in range(9)])
    assert main(["show", source, "--step", "3"]) == 0

    page = capsys.readouterr().out
    assert "Step 3" in page
    assert "reward_mean  0.3  before 0.2" in page


def test_a_window_is_shown_beside_the_rows_before_it(tmp_path, capsys):
    source = log(tmp_path / "log.jsonl", [{"step": step, "reward": step / 10} for step in range(9)])
    assert main(["show", source, "--step", "2:6"]) == 0
    assert "0.05 → 0.4" in capsys.readouterr().out
    assert main(["show", source, "--steps", "2:6", "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    course = document["metrics"]["reward_mean"]
    assert (course["steps"], course["values"]) == ([2, 3, 4, 5, 6], [0.2, 0.3, 0.4, 0.5, 0.6])
    assert course["before"] == {"mean": 0.05, "deviation": 0.05, "rows": 2, "level": 0.05}


@pytest.mark.parametrize(("step", "near"), [("5", "4 or 6"), ("99", "8"), ("-1", "0"), ("30:40", "8")])
def test_a_step_that_was_not_logged_is_answered_with_the_nearest(step, near, tmp_path, capsys):
    source = log(tmp_path / "log.jsonl", [{"step": step, "reward": 0.1} for step in range(0, 10, 2)])
    assert main(["show", source, f"--step={step}"]) == 2

    assert capsys.readouterr().err.endswith(f"Take {near}.\n")


def test_every_page_of_the_catalog_can_be_read_under_any_spelling_of_its_name(capsys):
    assert main(["explain", "--list", "--json"]) == 0
    signatures = json.loads(capsys.readouterr().out)["signatures"]
    assert signatures
    names = Counter(alias for signature in signatures for alias in signature["aliases"])
    for signature in signatures:
        pages = set()
        for name in (
            signature["id"],
            signature["id"].lower(),
            signature["id"].replace("_", "-"),
            *(alias for alias in signature["aliases"] if names[alias] == 1),  # two may share an older name
        ):
            assert main(["explain", name, "--json"]) == 0, name
            pages.add(capsys.readouterr().out)
        assert len(pages) == 1, signature["id"]
        assert signature["id"] in pages.pop()


def test_every_reassurance_can_be_read_under_the_name_that_a_page_shows(capsys):
    assert main(["explain", "--list", "--json"]) == 0
    reassurances = json.loads(capsys.readouterr().out)["reassurances"]
    assert reassurances
    for one in reassurances:
        assert main(["explain", one["id"].lower().replace("_", "-")]) == 0
        read = capsys.readouterr().out
        assert one["id"] in read
        assert "What must be there" in read


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("entropy", "Closest: ENTROPY_COLLAPSE, ENTROPY_EXPLOSION, ENTROPY_FALLS_WITH_MASTERY."),
        ("v30", "Closest: V301, V302, V303, V304, V305."),
        ("reward hack", "Closest: REWARD_HACK_LENGTH."),
        ("kl_blowupp", "Closest: KL_BLOWUP"),
        ("v999", "See `rlprobe explain --list`."),
        ("x" * 5_000, "See `rlprobe explain --list`."),
        ("Guide", "rlprobe skill show guide"),
    ],
)
def test_what_may_be_meant_by_half_an_id_is_named(typed, told, capsys):
    assert main(["explain", typed]) == 2

    err = capsys.readouterr().err
    assert told in err
    assert err.startswith("rlprobe: explain: ")
    assert err.count("\n") == 1
    assert len(err) < 400


@pytest.mark.parametrize("typed", ["kl blowup", " Kl-Blowup ", "KL_blowup"])
def test_an_id_is_known_however_its_words_are_joined(typed, capsys):
    assert main(["explain", typed]) == 0
    assert capsys.readouterr().out.lstrip().startswith("KL_BLOWUP")


def test_an_unknown_name_is_answered_with_the_closest(capsys):
    assert main(["explain", "entropi"]) == 2

    assert "ENTROPY_COLLAPSE" in capsys.readouterr().err


def test_the_list_of_runs_passes_over_what_is_no_run(tmp_path, capsys):
    log(tmp_path / "run.jsonl", learning(60))
    (tmp_path / "deep").mkdir()
    log(tmp_path / "deep" / "short.jsonl", learning(3))
    (tmp_path / "notes.txt").write_text("nothing here", encoding="utf-8")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert main(["ls", str(tmp_path), "--json"]) == 0

    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [Path(run["source"]).name for run in runs] == ["run.jsonl", "short.jsonl"]
    assert [run["rows"] for run in runs] == [60, 3]
    assert main(["ls", str(tmp_path)]) == 0
    assert "short.jsonl" in capsys.readouterr().out.replace("\n", "").replace(" ", "")  # a long path may be broken


def test_a_folder_without_runs_says_so(tmp_path, capsys):
    assert main(["ls", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "No run found here.\n"
    assert main(["ls", str(tmp_path / "nowhere")]) == 2


@pytest.fixture
def recording(tmp_path) -> Path:
    """A closed recording of nine steps with two samples a step."""
    from rlprobe import Recorder

    with Recorder(tmp_path / "run", algorithm="grpo") as recorder:
        for step in range(9):
            recorder.log_step(step, {"reward_mean": step / 10, "loss": 0.1})
            rows = [{"sample": index, "prompt": "SECRET", "completion": "SECRET", "reward": 0.5} for index in range(2)]
            recorder.log_samples(step, rows)
    return tmp_path / "run"


def test_a_log_becomes_a_recording_with_the_same_rows(tmp_path, capsys):
    source, target = log(tmp_path / "log.jsonl", learning(60)), str(tmp_path / "run")
    assert main(["import", source, target]) == 0
    assert "60 rows, 3 metrics" in capsys.readouterr().out
    assert main(["validate", target]) == 0
    capsys.readouterr()

    shown = []
    for opened in (source, target):
        assert main(["show", opened, "--step", "7", "--json"]) == 0
        shown.append(json.loads(capsys.readouterr().out)["metrics"])
    assert shown[0] == shown[1]


def test_an_import_leaves_what_is_there_alone(recording, tmp_path, capsys):
    before = sorted(path.name for path in recording.rglob("*"))
    assert main(["import", log(tmp_path / "log.jsonl", learning(9)), str(recording)]) == 2

    assert "expected a path that is free" in capsys.readouterr().err
    assert sorted(path.name for path in recording.rglob("*")) == before


def test_a_whole_recording_keeps_to_the_format(recording, capsys):
    assert main(["validate", str(recording)]) == 0
    assert capsys.readouterr().out == f"{recording} keeps to the format.\n"
    assert main(["validate", str(recording), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["valid"] is True


def test_a_damaged_recording_is_told_and_repaired(recording, tmp_path, capsys):
    with (recording / "events.jsonl").open("a", encoding="utf-8") as events:
        events.write('{"kind": "tor')
    assert main(["validate", str(recording)]) == 1
    assert "events.jsonl" in capsys.readouterr().out
    assert main(["validate", str(recording), "--repair", str(tmp_path / "whole")]) == 0
    assert main(["validate", str(tmp_path / "whole")]) == 0
    capsys.readouterr()
    assert main(["show", str(tmp_path / "whole"), "--step", "8", "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["metrics"]["reward_mean"] == 0.8


def test_an_export_holds_no_text_and_the_same_numbers(recording, tmp_path, capsys):
    target = tmp_path / "copy"
    assert main(["export", str(recording), str(target), "--no-text"]) == 0
    capsys.readouterr()
    assert main(["show", str(target), "--step", "3", "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["metrics"]["reward_mean"] == 0.3
    assert [sample["reward"] for sample in document["samples"]] == [0.5, 0.5]
    assert not any(b"SECRET" in path.read_bytes() for path in target.rglob("*") if path.is_file())


@pytest.mark.parametrize("command", [["validate"], ["export", "--no-text", "copy"]])
def test_a_log_is_no_recording(command, tmp_path, capsys):
    source = log(tmp_path / "log.jsonl", learning(9))

    assert main([command[0], *command[1:-1], source, *command[1:][1:]]) == 2
    assert capsys.readouterr().err.startswith(f"rlprobe: {source}: expected")


def test_a_truncated_or_flipped_recording_is_read_as_far_as_it_is_whole(recording, capsys):
    for path in sorted(path for path in recording.rglob("*") if path.is_file() and path.stat().st_size):
        content = path.read_bytes()
        at = len(content) // 3
        for damaged in (content[:at], content[:at] + bytes([content[at] ^ 255]) + content[at + 1 :]):
            path.write_bytes(damaged)
            assert main(["doctor", str(recording), "--json"]) in (0, 1, 2, 3), path
            out, err = capsys.readouterr()
            assert (json.loads(out)["run"]["rows"] <= 9) if out else err.count("\n") == 1
        path.write_bytes(content)


@pytest.mark.slow
def test_the_demo_trains_records_and_names_its_fault(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "run")]) == 0

    assert "REWARD_HACK_LENGTH" in capsys.readouterr().out
    assert main(["doctor", str(tmp_path / "run"), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert next(finding["id"] for finding in document["findings"] if finding["root"]) == "REWARD_HACK_LENGTH"


def test_the_demo_lists_what_it_can_train(capsys):
    assert main(["demo", "--list"]) == 0

    listed = capsys.readouterr().out
    assert "length-hack" in listed
    assert "healthy-" in listed


def test_the_demo_leaves_what_is_there_alone(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    assert main(["demo", "--out", str(tmp_path), "--steps", "2"]) == 2

    assert "expected a path that is free" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
