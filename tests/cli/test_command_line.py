import os
import subprocess
import sys
from pathlib import Path

import pytest

import rlprobe
from rlprobe.cli import COMMANDS, load, main
from rlprobe.cli.failure import Failure
from tests.cli.manual import manual

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"


def one_line(text: str) -> str:
    """The only line of what went to stderr."""
    assert text.count("\n") == 1, text
    return text.rstrip("\n")


def test_help_names_every_command(capsys):
    assert main(["--help"]) == 0

    shown = capsys.readouterr().out
    assert all(f"\n  {name} " in shown for name in COMMANDS)


def test_no_words_at_all_are_answered_with_the_help(capsys):
    assert main([]) == 0
    bare = capsys.readouterr().out
    assert main(["--help"]) == 0

    assert capsys.readouterr().out == bare


def test_a_closed_stdout_is_no_error():
    script = f"{sys.executable} -m rlprobe explain --list >&- && {sys.executable} -m rlprobe nonsense 2>&-"

    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_the_version_is_told(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"rlprobe {rlprobe.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_a_help_with_its_example(command, capsys):
    assert main([command, "--help"]) == 0
    assert load(command).EXAMPLE in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["doktor"], "The closest is `rlprobe doctor`."),
        (["zzz"], "`rlprobe --help` lists them."),
        (["\x1b[31mdoktor"], "The closest is `rlprobe doctor`."),
        (["doctor"], "expected SOURCE"),
        (["doctor", "x", "--until", "soon"], "argument --until"),
        (["doctor", "x", "--run", "0"], "expected a number from 1 on, got '0'"),
        (["doctor", "x", "--json", "--markdown"], "not allowed with"),
        (["doctor", "x", "--map", "reward"], "expected THEIRS=OURS, got 'reward'"),
        (["show", "x", "--step", "9:3"], "expected A:B with A up to B"),
        (["show", "x", "--step", "one"], "expected N or A:B, got 'one'"),
        (["show", "x"], "--step"),
        (["export", "run", "copy"], "--no-text"),
        (["demo", "no-such-fault"], "`rlprobe demo --list` shows them"),
        (["demo", "--steps", "0"], "--steps from 1"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(words, told, capsys):
    assert main(words) == 2

    out, err = capsys.readouterr()
    assert told in one_line(err)
    assert "\x1b" not in err
    assert out == ""


@pytest.mark.parametrize(
    ("words", "argument"),
    [
        (["doctor", ""], "SOURCE"),
        (["import", "log.jsonl", ""], "RUN"),
        (["watch", "", "--once"], "SOURCE"),
        (["show", "", "--step", "1"], "SOURCE"),
        (["diff", "a", "", "--html", "x.html"], "A"),
        (["diff", "a", "b", "--html", ""], "--html"),
        (["export", "run", "", "--no-text"], "TARGET"),
        (["validate", "run", "--repair", ""], "--repair"),
        (["report", "run", "-o", ""], "-o/--output"),
        (["samples", "run", "--contains", ""], "--contains"),
        (["watch", "run", "--once", "--state", ""], "--state"),
        (["run", "--run", "", "--", "true"], "--run"),
        (["skill", "install", "--dir", ""], "--dir"),
        (["mcp", "--root", ""], "--root"),
        (["explain", ""], "ID"),
    ],
)
def test_an_empty_word_is_no_name_of_the_current_folder(words, argument, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert main(words) == 2

    assert f"argument {argument}: expected a value, got an empty word" in one_line(capsys.readouterr().err)
    assert list(tmp_path.iterdir()) == []


def test_a_complaint_has_a_bounded_length(capsys):
    assert main(["doctor", "x" * 100_000]) == 2

    told = one_line(capsys.readouterr().err)
    assert len(told) < 2_100
    assert "Check the path" in told or "name too long" in told


def raising(error: BaseException):
    def run(args: object) -> int:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (Failure("here: expected this.\nDo that."), 2, "rlprobe: here: expected this. Do that."),
        (PermissionError(13, "Permission denied", "/run"), 2, "rlprobe: /run: Permission denied."),
        (KeyError("lost"), 4, "rlprobe: internal error in `ls`: KeyError: 'lost'. Report it with"),
        (RecursionError(), 4, "internal error"),
    ],
)
def test_an_error_is_one_line_with_its_exit_code(error, code, told, capsys, monkeypatch):
    monkeypatch.delenv("RLPROBE_DEBUG", raising=False)
    monkeypatch.setattr(load("ls"), "run", raising(error))

    assert main(["ls"]) == code
    assert told in one_line(capsys.readouterr().err)


def test_the_traceback_of_an_internal_error_is_shown_on_demand(capsys, monkeypatch):
    monkeypatch.setenv("RLPROBE_DEBUG", "1")
    monkeypatch.setattr(load("ls"), "run", raising(KeyError("lost")))

    assert main(["ls"]) == 4
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_an_interrupt_is_quiet(capsys, monkeypatch):
    monkeypatch.setattr(load("ls"), "run", raising(KeyboardInterrupt()))

    assert main(["ls"]) == 130
    assert capsys.readouterr() == ("", "")


def python(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, env={**os.environ, **more}, timeout=60, check=False
    )


def test_help_and_import_load_nothing_heavy():
    code = (
        "import sys, rlprobe\n"
        "from rlprobe.cli import main\n"
        "assert main(['--help']) == 0 and main(['doctor', '--help']) == 0\n"
        "print(sorted({'numpy', 'pyarrow', 'rich', 'msgspec', 'torch'} & set(sys.modules)), file=sys.stderr)\n"
    )
    done = python("-c", code)

    assert done.returncode == 0
    assert done.stderr == "[]\n"


def test_a_command_leaves_linear_algebra_one_thread_unless_the_user_says_more():
    code = (
        "import os, sys\n"
        "from rlprobe.cli import THREADS, main\n"
        "for name in THREADS[1:]:\n"
        "    os.environ.pop(name, None)\n"
        "main(['explain', '--list', '--json'])\n"
        "print([os.environ[name] for name in THREADS], file=sys.stderr)\n"
    )
    done = python("-c", code, OMP_NUM_THREADS="2")

    assert done.returncode == 0
    assert done.stderr == "['2', '1', '1']\n"


@pytest.mark.parametrize("order", ["first", "second"])
def test_a_public_name_is_never_a_module(order):
    code = (
        "import importlib, sys, types, rlprobe\n"
        "names = [n for n in rlprobe.__all__ if n in sys.argv[1].split(',')]\n"
        "names = names if sys.argv[2] == 'first' else names[::-1]\n"
        "for again in range(2):\n"
        "    for name in names:\n"
        "        assert not isinstance(getattr(rlprobe, name), types.ModuleType), name\n"
        "        home = rlprobe._HOMES.get(name)\n"
        "        home and importlib.import_module(home)\n"
        "        assert not isinstance(getattr(rlprobe, name), types.ModuleType), name\n"
    )
    without_trainer = [name for name in rlprobe.__all__ if name not in ("attach", "RlprobeCallback")]
    done = python("-c", code, ",".join(without_trainer), order)

    assert done.returncode == 0, done.stderr


def test_the_module_is_the_command_line():
    done = python("-m", "rlprobe", "doctor", "/no/such/run")

    assert done.returncode == 2
    assert one_line(done.stderr).startswith("rlprobe: /no/such/run: expected")


def test_a_reader_that_goes_away_leaves_no_traceback():
    code = (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-m', 'rlprobe', 'explain', '--list'], stdout=subprocess.PIPE)\n"
        "child.stdout.close()\n"
        "sys.exit(child.wait())\n"
    )
    done = python("-c", code)

    assert done.returncode == 141
    assert done.stderr == ""


def test_a_page_is_ascii_where_the_output_is():
    done = python(
        "-m", "rlprobe", "show", str(Path(__file__).parent / "arrow.jsonl"), "--step", "1:9", PYTHONIOENCODING="ascii"
    )

    assert done.returncode == 0, done.stderr
    assert "0.1 -> 0.9" in done.stdout


def test_the_manual_is_what_the_parsers_say():
    if os.environ.get("RLPROBE_UPDATE_SNAPSHOTS") == "1":
        DOCS.write_text(manual(), encoding="utf-8")

    assert DOCS.read_text(encoding="utf-8") == manual()
