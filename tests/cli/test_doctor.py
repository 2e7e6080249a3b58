import json
import math
import os
import tomllib
from pathlib import Path

import pytest

from rlprobe.cli import main
from rlprobe.cli.doctor import exit_code
from rlprobe.doctor import engine
from tests.reports.diagnoses import FAILING, HEALTHY, UNKNOWN


def log(path: Path, rows: list[dict[str, object]]) -> str:
    """A JSONL log of those rows."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def learning(steps: int) -> list[dict[str, object]]:
    """Rows of a run that learns a little."""
    return [
        {
            "step": step,
            "reward": 0.3 + 0.001 * step + 0.01 * math.sin(7 * step),
            "loss": 0.1,
            "entropy": 0.8 + 0.01 * math.cos(5 * step),
        }
        for step in range(1, steps + 1)
    ]


def diagnosed(monkeypatch: pytest.MonkeyPatch, diagnosis: object) -> None:
    """Let the engine answer with a fixed diagnosis."""
    monkeypatch.setattr(engine, "diagnose", lambda run, **rest: diagnosis)


@pytest.mark.parametrize(
    ("diagnosis", "fail_on", "code"),
    [
        (FAILING, "critical", 1), (FAILING, "warning", 1), (FAILING, "never", 0),
        (HEALTHY, "critical", 0), (HEALTHY, "warning", 0), (HEALTHY, "never", 0),
        (UNKNOWN, "critical", 3), (UNKNOWN, "never", 3),
    ],
)  # fmt: skip
def test_the_exit_code_follows_the_worst_active_finding(diagnosis, fail_on, code):
    assert exit_code(diagnosis, fail_on) == code


@pytest.mark.parametrize("form", [[], ["--json"], ["--markdown"], ["--verbose"]])
def test_every_form_of_a_diagnosis_goes_to_stdout_with_the_same_exit_code(form, tmp_path, capsys, monkeypatch):
    diagnosed(monkeypatch, FAILING)

    assert main(["doctor", log(tmp_path / "log.jsonl", learning(5)), *form]) == 1
    out, err = capsys.readouterr()
    assert "REWARD_HACK_LENGTH" in out
    assert err == ""


def test_a_page_without_a_terminal_has_no_colour_even_where_a_wide_one_is_announced(tmp_path, capsys, monkeypatch):
    diagnosed(monkeypatch, FAILING)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("FORCE_COLOR", "1")
    main(["doctor", log(tmp_path / "log.jsonl", learning(5))])

    page = capsys.readouterr().out
    assert "\x1b" not in page
    assert max(map(len, page.splitlines())) <= 120


def test_until_and_config_reach_the_doctor(tmp_path, capsys, monkeypatch):
    seen = {}
    monkeypatch.setattr(engine, "diagnose", lambda run, **rest: seen.update(rest) or HEALTHY)
    config = tmp_path / "doctor.toml"
    config.write_text("sensitivity = 2\n", encoding="utf-8")
    main(["doctor", log(tmp_path / "log.jsonl", learning(5)), "--until", "3", "--config", str(config)])

    assert seen["until"] == 3
    assert seen["configuration"].sensitivity == 2.0


def test_the_configuration_in_force_is_shown_and_read_back(tmp_path, capsys):
    assert main(["doctor", "--show-config"]) == 0
    shown = capsys.readouterr().out
    config = tmp_path / "doctor.toml"
    config.write_text(shown, encoding="utf-8")
    assert main(["doctor", "--config", str(config), "--show-config"]) == 0

    assert tomllib.loads(capsys.readouterr().out) == tomllib.loads(shown)


def test_a_foreign_key_is_read_under_the_name_that_map_gives(tmp_path, capsys):
    source = log(tmp_path / "log.jsonl", [{"step": step, "my/own": 0.5} for step in range(9)])
    assert main(["show", source, "--step", "3", "--json", "--map", "my/own=reward_mean"]) == 0

    assert json.loads(capsys.readouterr().out)["metrics"] == {"reward_mean": 0.5}


@pytest.mark.parametrize("rows", [1, 5])
def test_a_run_of_few_steps_is_too_short_to_say(rows, tmp_path, capsys):
    assert main(["doctor", log(tmp_path / "log.jsonl", learning(rows)), "--json"]) == 3

    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "unknown"
    assert document["run"]["rows"] == rows
    assert {entry["reason"] for entry in document["not_checked"]} <= {"too_short", "missing"}


def test_metrics_that_are_all_nan_are_no_error_of_ours(tmp_path, capsys):
    rows = [{"step": step, "reward": math.nan, "loss": math.nan, "grad_norm": math.nan} for step in range(60)]
    code = main(["doctor", log(tmp_path / "log.jsonl", rows), "--json"])

    assert code in (0, 1, 3)
    assert json.loads(capsys.readouterr().out)["run"]["rows"] == 60


def test_text_where_numbers_belong_costs_those_values_and_is_told(tmp_path, capsys):
    rows = learning(60)
    rows[7]["reward"] = "a\x1b[31mb"
    assert main(["doctor", log(tmp_path / "log.jsonl", rows), "--json"]) in (0, 1)

    document = json.loads(capsys.readouterr().out)
    assert document["run"]["rows"] == 60
    assert document["recording"]["bad_values"] == 1


def test_a_torn_last_line_costs_only_itself(tmp_path, capsys):
    source = tmp_path / "log.jsonl"
    log(source, learning(60))
    with source.open("a", encoding="utf-8") as lines:
        lines.write('{"step": 61, "rewa')
    assert main(["doctor", str(source), "--json"]) in (0, 1)

    assert json.loads(capsys.readouterr().out)["run"]["rows"] == 60


def binary(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 40)


def empty_file(path: Path) -> None:
    path.write_bytes(b"")


def prose(path: Path) -> None:
    path.write_text("Dear diary, nothing was logged today.\n", encoding="utf-8")


def empty_folder(path: Path) -> None:
    path.mkdir()


def foreign_folder(path: Path) -> None:
    path.mkdir()
    (path / "model.safetensors").write_bytes(b"\0" * 99)


def newer_recording(path: Path) -> None:
    path.mkdir()
    (path / "manifest.json").write_text('{"format": "rlprobe.recording", "version": "99.0"}', encoding="utf-8")


def broken_manifest(path: Path) -> None:
    path.mkdir()
    (path / "manifest.json").write_bytes(b'{"format": "rlpr\xff\x00')


def pipe(path: Path) -> None:
    os.mkfifo(path)


def missing(path: Path) -> None:
    pass


BAD = [missing, binary, empty_file, prose, empty_folder, foreign_folder, newer_recording, broken_manifest, pipe]


@pytest.mark.parametrize("make", BAD, ids=lambda make: make.__name__)
@pytest.mark.parametrize("command", [["doctor"], ["doctor", "--json"], ["show", "--step", "1"]], ids=" ".join)
def test_bad_input_is_one_clear_line_with_the_path_and_exit_code_2(make, command, tmp_path, capsys):
    source = tmp_path / "source"
    make(source)

    assert main([command[0], str(source), *command[1:]]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith(f"rlprobe: {source}: expected")
