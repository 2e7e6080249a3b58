import json
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from rlprobe.cli import main

WRONG = """
import numpy as np
from rlprobe import Pipeline

print("a line of the user's own")


def advantages(rewards, group_size):
    grouped = rewards.reshape(-1, group_size)
    return (grouped.mean(axis=1, keepdims=True) - grouped).reshape(-1)


def make():
    return Pipeline(advantages=advantages, declare={"baseline": "group"})
"""
RIGHT = WRONG.replace("grouped.mean(axis=1, keepdims=True) - grouped", "grouped - grouped.mean(axis=1, keepdims=True)")


@pytest.fixture(autouse=True)
def own_path(monkeypatch):
    """The command puts the folder of the user's file where Python looks; here the process goes on afterwards."""
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.fixture
def wrong(tmp_path):
    path = tmp_path / "wrong_advantages.py"
    path.write_text(WRONG)
    return path


@pytest.fixture
def right(tmp_path):
    path = tmp_path / "right_advantages.py"
    path.write_text(RIGHT)
    return path


def answer(capsys, *words):
    code = main(["verify", *map(str, words)])
    return code, capsys.readouterr()


def test_a_wrong_sign_is_told(capsys, wrong):
    code, told = answer(capsys, f"{wrong}::make")

    assert code == 1
    assert "V203" in told.out
    assert "1 failing" in " ".join(told.out.split())


def test_correct_code_holds(capsys, right):
    code, told = answer(capsys, f"{right}::make")

    assert code == 0
    assert "HOLDS" in told.out or "LOOK" in told.out


def test_json_is_all_that_stands_on_stdout_and_is_the_same_each_time(capsys, wrong):
    code, first = answer(capsys, f"{wrong}::make", "--json")
    _, second = answer(capsys, f"{wrong}::make", "--json")

    tree = json.loads(first.out)
    assert code == 1
    assert tree["schema"] == "rlprobe.verify/1"
    assert first.out == second.out
    assert "a line of the user's own" in first.err
    failing = [check for check in tree["checks"] if check["status"] == "fail"]
    assert failing[0]["where"] == f"{wrong}:8"
    assert failing[0]["stage"] == "advantages"
    assert failing[0]["fix"]


def test_the_snippet_shows_the_failure_when_it_is_run(capsys, wrong, monkeypatch):
    monkeypatch.syspath_prepend(wrong.parent)
    _, told = answer(capsys, f"{wrong}::make", "--json")
    snippets = [check["repro"] for check in json.loads(told.out)["checks"] if check["status"] == "fail"]

    exec(compile(snippets[0], "snippet", "exec"), {})

    assert "[" in capsys.readouterr().out


def test_functions_are_named_one_by_one(capsys, wrong, monkeypatch):
    monkeypatch.chdir(wrong.parent)
    code, told = answer(capsys, "--advantages", "wrong_advantages:advantages", "--declare", "baseline=group")

    assert code == 1
    assert "V203" in told.out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "expected TARGET"),
        (["nowhere.py::make"], "no such file"),
        (["no_such_module:make"], "ModuleNotFoundError"),
        (["os:nothing"], "has no 'nothing'"),
        (["os:sep"], "expected a Pipeline, a trainer or a function that makes one, got str"),
        (["just-a-word"], "expected path.py::name or package.module:name"),
        (["--loss", "os:getcwd", "--declare", "clip"], "expected NAME=VALUE"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(capsys, words, expected):
    code, told = answer(capsys, *words)

    assert code == 2
    assert expected in told.err
    assert told.err.count("\n") == 1
    assert told.out == ""


def test_code_that_raises_or_exits_while_it_is_imported_is_told(capsys, tmp_path):
    for text in ("raise ValueError('no such luck')", "import sys; sys.exit(3)", "def make(:"):
        path = tmp_path / "broken.py"
        path.write_text(text)

        code, told = answer(capsys, f"{path}::make")

        assert code == 2
        assert "importing it raised" in told.err
        assert "Traceback" not in told.err


def test_an_unknown_check_is_told_with_the_closest(capsys, right):
    code, told = answer(capsys, f"{right}::make", "--only", "V9999")

    assert code == 2
    assert "V9999" in told.err


def test_only_runs_what_is_asked_for(capsys, right):
    _, told = answer(capsys, f"{right}::make", "--only", "V201,V203", "--json")

    assert [check["id"] for check in json.loads(told.out)["checks"]] == ["V201", "V203"]


def test_nothing_that_can_be_checked_is_exit_code_three(capsys, tmp_path):
    path = tmp_path / "empty_pipeline.py"
    path.write_text("from rlprobe import Pipeline\n\n\ndef make():\n    return Pipeline()\n")

    code, told = answer(capsys, f"{path}::make", "--only", "advantages")

    assert code == 3
    assert "hand over" in told.out


def test_the_difference_to_an_earlier_report_is_told(capsys, wrong, right, tmp_path):
    _, before = answer(capsys, f"{wrong}::make", "--json")
    old = tmp_path / "old.json"
    old.write_text(before.out)

    code, told = answer(capsys, f"{right}::make", "--diff", old)
    _, tree = answer(capsys, f"{right}::make", "--diff", old, "--json")

    assert code == 0
    assert "fixed" in told.out
    assert "V203" in json.loads(tree.out)["change"]["fixed"]


def test_a_file_that_is_no_report_is_told(capsys, right, tmp_path):
    for text in ("{}", "[1]", "not json", '{"schema": "rlprobe.diagnosis/1"}'):
        old = tmp_path / "old.json"
        old.write_text(text)

        code, told = answer(capsys, f"{right}::make", "--diff", old)

        assert code == 2
        assert "old.json" in told.err


def test_a_snapshot_tells_what_moved_and_what_did_not(capsys, wrong, right, tmp_path):
    kept = tmp_path / "kept.json"
    assert answer(capsys, f"{wrong}::make", "--snapshot", kept)[0] == 0

    same, told_same = answer(capsys, f"{wrong}::make", "--against", kept)
    moved, told_moved = answer(capsys, f"{right}::make", "--against", kept)

    assert (same, moved) == (0, 1)
    assert "Every branch gives what it gave before." in told_same.out
    assert "advantages/two varied groups" in told_moved.out


def test_sarif_names_file_and_line_and_junit_has_a_case_a_check(capsys, wrong, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _ = answer(capsys, f"{wrong}::make", "--sarif", "out.sarif", "--junit", "out.xml")

    tree = json.loads((tmp_path / "out.sarif").read_text())
    results = tree["runs"][0]["results"]
    place = results[0]["locations"][0]["physicalLocation"]
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()[0]
    assert code == 1
    assert tree["version"] == "2.1.0"
    assert place["artifactLocation"]["uri"] == wrong.name
    assert place["region"]["startLine"] == 8
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure")) > 0
    assert int(suite.get("tests")) == len(suite.findall("testcase"))


def test_markdown_shows_hostile_names_as_text(capsys, tmp_path):
    path = tmp_path / "hostile.py"
    path.write_text(
        "from rlprobe import Pipeline\n\n\ndef make():\n"
        "    def advantages(rewards, group_size):\n        raise ValueError('<script>`|\\x1b[31m')\n"
        "    return Pipeline(advantages=advantages)\n"
    )

    _, told = answer(capsys, f"{path}::make", "--markdown")
    _, page = answer(capsys, f"{path}::make")

    outside = "".join(told.out.split("```")[::2])
    assert "\\<script\\>" in outside
    assert "<script>" not in outside
    assert "\x1b" not in told.out + page.out


def test_every_check_is_listed(capsys):
    code, told = answer(capsys, "--list")

    assert code == 0
    assert all(f"V{stage}01" in told.out for stage in (2, 3))


def test_a_snapshot_holds_every_branch_of_reward_and_decode(capsys, tmp_path):
    kept, path = tmp_path / "kept.json", tmp_path / "decoding.py"
    text = (
        "from rlprobe import Pipeline\n\n\n"
        "def decode(text):\n"
        "    if '<think>' not in text:\n        return text\n"
        "    return text.rpartition('</think>')[2] if '</think>' in text else ''\n\n\n"
        "def reward(completions, answer):\n"
        "    return [float(right in one) for one, right in zip(completions, answer)]\n\n\n"
        "def make():\n"
        "    rows = [{'prompt': 'p', 'answer': '42', 'completion': '42'}]\n"
        "    return Pipeline(decode=decode, reward=reward, dataset=rows)\n"
    )
    path.write_text(text)
    assert answer(capsys, f"{path}::make", "--snapshot", kept)[0] == 0
    path.write_text(text.replace("else ''", "else text"))

    code, told = answer(capsys, f"{path}::make", "--against", kept)

    assert code == 1
    assert "decode/reasoning never closed" in told.out
    assert "decode/reasoning opened and closed" not in told.out
    assert "reward/" not in told.out
