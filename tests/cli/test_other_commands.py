import json
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


def test_a_window_is_shown_from_its_first_value_to_its_last(tmp_path, capsys):
    source = log(tmp_path / "log.jsonl", [{"step": step, "reward": step / 10} for step in range(9)])
    assert main(["show", source, "--step", "2:6"]) == 0
    assert "0.2 → 0.6" in capsys.readouterr().out
    assert main(["show", source, "--step", "2:6", "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["metrics"]["reward_mean"] == {"steps": [2, 3, 4, 5, 6], "values": [0.2, 0.3, 0.4, 0.5, 0.6]}


@pytest.mark.parametrize(("step", "near"), [("5", "4 or 6"), ("99", "8"), ("-1", "0"), ("30:40", "8")])
def test_a_step_that_was_not_logged_is_answered_with_the_nearest(step, near, tmp_path, capsys):
    source = log(tmp_path / "log.jsonl", [{"step": step, "reward": 0.1} for step in range(0, 10, 2)])
    assert main(["show", source, f"--step={step}"]) == 2

    assert capsys.readouterr().err.endswith(f"Take {near}.\n")


def test_every_page_of_the_catalog_can_be_read_under_any_spelling_of_its_name(capsys):
    assert main(["explain", "--list", "--json"]) == 0
    signatures = json.loads(capsys.readouterr().out)["signatures"]
    assert signatures
    for signature in signatures:
        pages = set()
        for name in (
            signature["id"],
            signature["id"].lower(),
            signature["id"].replace("_", "-"),
            *signature["aliases"],
        ):
            assert main(["explain", name]) == 0, name
            pages.add(capsys.readouterr().out)
        assert len(pages) == 1, signature["id"]
        assert signature["id"] in pages.pop()


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
    assert "short.jsonl" in capsys.readouterr().out


def test_a_folder_without_runs_says_so(tmp_path, capsys):
    assert main(["ls", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "No run found here.\n"
    assert main(["ls", str(tmp_path / "nowhere")]) == 2


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
