import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from rlprobe.cli import main
from rlprobe.lab import train
from tests.guardian.stories import append, lines, rows


@pytest.fixture
def broken_log(tmp_path: Path) -> Path:
    path = tmp_path / "train.jsonl"
    path.write_text(lines([*rows(30), *rows(12, first=31, broken_from=33)]))
    return path


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "expected SOURCE"),
        (["-"], "expected SOURCE, a run, a log or a folder"),
        (["x", "--speed", "2"], "and --replay with it, got 2.0"),
        (["x", "--replay", "--speed", "0"], "--speed above 0"),
        (["x", "--replay", "--speed", "nan"], "--speed above 0"),
        (["x", "--replay", "--halt"], "a replay acts on nothing"),
        (["x", "--interval", "0"], "--interval from 0.05"),
        (["x", "--once"], "expected a recording or a log, got nothing"),
        (["x", "--replay"], "expected a recording or a log, got nothing"),
        (["x", "--config", "no.toml"], "no.toml: expected"),
        (["x", "--alert", "nonsense"], "expected a notification URL of the apprise library"),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_wrong_usage_is_one_line_and_exit_code_2(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["watch", *words]) == 2
    out, err = capsys.readouterr()
    assert told in err
    assert err.count("\n") == 1
    assert out == ""


def test_a_look_has_the_exit_codes_of_the_doctor(
    broken_log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = tmp_path / "short.jsonl"
    append(short, rows(3))

    assert main(["watch", str(broken_log), "--once"]) == 1
    assert main(["watch", str(broken_log), "--once", "--fail-on", "never"]) == 0
    assert main(["watch", str(short), "--once"]) == 3
    assert main(["watch", str(tmp_path), "--once"]) == 1
    capsys.readouterr()


def test_the_configuration_in_force_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "doctor.toml").write_text("[guardian]\nmessages_a_day = 7\n")

    assert main(["watch", "--show-config", "--config", str(tmp_path / "doctor.toml")]) == 0
    assert "messages_a_day = 7 " in capsys.readouterr().out


@pytest.mark.slow
def test_a_closed_recording_is_told_and_ended_with_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train("constant-reward", tmp_path / "run", steps=40, seed=0)

    assert main(["watch", str(tmp_path / "run"), "--json"]) == 1
    told = [json.loads(one) for one in capsys.readouterr().out.splitlines()]
    assert told[0]["kind"] == "opened"
    assert {one["schema"] for one in told} == {"rlprobe.watch/1"}
    assert [one["kind"] for one in told][-2:] == ["ended", "diagnosis"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_channels_of_the_environment_are_for_live_runs_and_not_for_replays(
    broken_log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLPROBE_ALERTS", "nonsense-one nonsense-two")

    assert main(["watch", str(broken_log), "--once"]) == 2
    assert "in place 1" in capsys.readouterr().err
    assert main(["watch", str(broken_log), "--replay", "--plain"]) == 1
    assert "NUMERIC_NAN" in capsys.readouterr().out


@pytest.mark.slow
def test_the_json_of_a_replay_is_the_same_twice(broken_log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for _ in range(2):
        assert main(["watch", str(broken_log), "--replay", "--json"]) == 1
        said.append(capsys.readouterr().out)

    assert said[0] == said[1]


@pytest.mark.slow
def test_on_a_terminal_the_page_is_live(broken_log: Path) -> None:
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "rlprobe", "watch", str(broken_log), "--replay"]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    shown = b""
    with subprocess.Popen(command, stdout=follower, stderr=subprocess.PIPE, env=environment) as process:
        os.close(follower)
        while True:
            try:
                part = os.read(leader, 65_536)
            except OSError:  # Linux's way of saying that the other end is closed
                break
            if not part:
                break
            shown += part
        os.close(leader)
        _, err = process.communicate()

    assert (process.returncode, err) == (1, b"")
    assert b"\x1b[?25l" in shown
    assert shown.count(b"\x1b[?25h") == 1
    assert b"NUMERIC_NAN" in shown


@pytest.mark.slow
def test_the_training_process_does_not_load_the_guardian() -> None:
    script = (
        "import sys, rlprobe; rlprobe.Recorder; import rlprobe.integrations.beside; "
        "print([m for m in sys.modules if m.startswith(('rlprobe.guardian', 'rlprobe.doctor', 'rich', 'apprise'))])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
