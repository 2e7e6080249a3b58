"""`rlprobe run`: the program is as it is without it, and what it logs is recorded."""

import os
import shlex
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from rlprobe import open_run
from rlprobe.cli import main
from rlprobe.integrations.tap_frameworks import FRAMEWORKS
from rlprobe.integrations.tap_loggers import LOGGERS
from rlprobe.integrations.tap_process import _shown
from tests.support.spread import spread

WRITER = "import sys; sys.modules['torch'] = None  # tensorboardX does without, and starts in a tenth of the time\n"
WRITER += "from tensorboardX import SummaryWriter; writer = SummaryWriter({folder!r}, flush_secs=3600)\n"
needs_writer = pytest.mark.skipif(find_spec("tensorboardX") is None, reason="needs tensorboardX")
LOGS_TWO = WRITER + "for step in range(2): writer.add_scalar('loss', 0.5, step)\n"


def words(run: Path, *program: str) -> list[str]:
    """The command line."""
    return [sys.executable, "-m", "rlprobe", "run", "--run", str(run), "--", *program]


def finished(run: Path, *program: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """The command, over."""
    return subprocess.run(
        words(run, *program), capture_output=True, text=True, check=False, env={**os.environ, **variables}
    )


def test_words_output_and_exit_code_are_the_programs(tmp_path: Path) -> None:
    script = "import sys; print(sys.argv[1:]); raise SystemExit(7)"
    done = finished(tmp_path / "run", sys.executable, "-c", script, "--run", "x", "--", "--tell", "-h", "")

    assert (done.returncode, done.stdout) == (7, "['--run', 'x', '--', '--tell', '-h', '']\n")
    assert done.stderr.startswith("rlprobe: nothing was recorded")


@pytest.mark.slow
def test_the_program_has_the_thread_settings_of_its_user(tmp_path: Path) -> None:
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    script = f"import os; print([os.environ.get(name) for name in {names}])"
    without = {name: value for name, value in os.environ.items() if name not in names}
    command = words(tmp_path / "run", sys.executable, "-c", script)
    plain = subprocess.run(command, capture_output=True, text=True, check=True, env=without)
    chosen = subprocess.run(command, capture_output=True, text=True, check=True, env=without | {"OMP_NUM_THREADS": "3"})

    assert plain.stdout == "[None, None, None]\n"
    assert chosen.stdout == "['3', None, None]\n"


WAITS = "print('here', flush=True)\nimport sys\nsys.stdin.read()"


def ended_by(number: signal.Signals, run: Path, script: str) -> int:
    """The return code of a program that a signal reaches while it waits."""
    command = words(run, sys.executable, "-c", script)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        process.send_signal(number)
        process.communicate()
    return process.returncode


@pytest.mark.parametrize("number", spread([signal.SIGINT, signal.SIGUSR1], few=1))
def test_a_signal_ends_the_program_as_without_rlprobe(tmp_path: Path, number: signal.Signals) -> None:
    assert ended_by(number, tmp_path / "run", WAITS) == -number


@needs_writer
def test_what_was_logged_before_a_signal_is_recorded(tmp_path: Path) -> None:
    script = LOGS_TWO.format(folder=str(tmp_path / "tensorboard")) + WAITS

    assert ended_by(signal.SIGTERM, tmp_path / "run", script) == -signal.SIGTERM
    assert open_run(tmp_path / "run").column("loss").tolist() == [0.5, 0.5]


@pytest.mark.slow
@needs_writer
def test_a_child_of_a_child_is_recorded(tmp_path: Path) -> None:
    program = tmp_path / "child.py"
    program.write_text(LOGS_TWO.format(folder=str(tmp_path / "tensorboard")) + "writer.close()")
    done = finished(tmp_path / "run", "sh", "-c", f"{sys.executable} {program}; exit 5")

    assert done.returncode == 5
    assert open_run(tmp_path / "run").steps.tolist() == [0, 1]


def test_another_sitecustomize_runs_as_without_rlprobe(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import builtins; builtins.customized = __file__\n")
    script = "import sitecustomize, sys; print(customized == sitecustomize.__file__, 'bootstrap' in ''.join(sys.path))"
    done = finished(tmp_path / "run", sys.executable, "-c", script, PYTHONPATH=str(folder))

    assert done.stdout == "True False\n"


def test_nothing_of_the_tap_loads_more_than_the_standard_library(tmp_path: Path) -> None:
    script = "import sys; print(sorted({'numpy', 'msgspec', 'pyarrow', 'rich'} & set(sys.modules)))"
    done = finished(tmp_path / "run", sys.executable, "-c", script)

    assert done.stdout == "[]\n"


def test_a_python_without_rlprobe_trains_on_and_says_so(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("print('trained')")
    hidden = "import sys, runpy; sys.modules['rlprobe'] = None; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0])"
    bootstrap = Path(sys.modules["rlprobe"].__file__ or "").parent / "integrations" / "bootstrap" / "sitecustomize.py"
    command = [sys.executable, "-c", f"{hidden}; runpy.run_path({str(script)!r})", str(bootstrap)]
    process = subprocess.Popen(
        ["sh", "-c", 'RLPROBE_TAP_PROCESS=$$ exec "$@"', "sh", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = process.communicate()

    assert (process.returncode, out) == (0, b"trained\n")
    assert b"has no rlprobe, so nothing is recorded" in err


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["run"], "expected `--` and a command"),
        (["run", "--"], "expected `--` and a command"),
        (["run", "--tell", "slack", "--", "true"], "expected names among wandb, tensorboard, trackio, got 'slack'"),
        (["run", "python", "train.py"], "expected `--` before the command: rlprobe run -- python ..."),
        (["run", "--run", "x", "true"], "expected `--` before the command: rlprobe run -- true ..."),
        (["run", "--run", __file__, "--", "true"], "expected a directory, got a file. Name another directory."),
        (["run", "--run", "x" * 300, "--", "true"], "File name too long. Name another directory."),
        (["run", "--halt", "python", "x.py"], "expected `--` before the command: rlprobe run -- python ..."),
        (["run", "--halt", "no-such.toml", "--", "true"], "no-such.toml: expected a readable file, got No such file"),
        (["run", "--halt", __file__, "--", "true"], "expected TOML, got"),
        (["run", "--", "no-such-program-here"], "expected a program that can be started, got 'no-such-program-here'"),
    ],
)
def test_wrong_usage_is_one_line(given: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(given) == 2

    assert told in capsys.readouterr().err


def test_the_last_word_names_a_recording_so_that_a_shell_takes_it() -> None:
    assert _shown(Path("runs/plain")) == "runs/plain"
    assert shlex.split(_shown(Path("runs/a b ü"))) == ["runs/a b ü"]
    assert _shown(Path("runs/\x1b[31mred\nline")).isprintable()


@pytest.mark.slow
@needs_writer
def test_a_rank_that_is_not_the_first_records_nothing(tmp_path: Path) -> None:
    script = LOGS_TWO.format(folder=str(tmp_path / "tb"))
    done = finished(tmp_path / "run", sys.executable, "-c", script, RANK="1", WORLD_SIZE="2")

    assert done.returncode == 0
    assert not (tmp_path / "run").exists()


def last_words(done: "subprocess.CompletedProcess[str]") -> list[str]:
    """What rlprobe said: the names of the recordings, or that there is none."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("rlprobe:")]
    return [Path(line.split()[3].rstrip(".")).name if "recorded in" in line else line.split(":")[1] for line in lines]


NOTHING = [" nothing was recorded"]


@pytest.mark.slow
@needs_writer
def test_a_program_that_replaces_itself_has_still_recorded(tmp_path: Path) -> None:
    script = LOGS_TWO.format(folder=str(tmp_path / "tb"))
    script += "writer.close(); import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'print(1)'])"

    assert last_words(finished(tmp_path / "run", sys.executable, "-c", script)) == ["run"]
    assert last_words(finished(tmp_path / "run", sys.executable, "-c", "print(1)")) == NOTHING  # nothing this time


@pytest.mark.slow
@needs_writer
def test_programs_of_a_script_each_have_a_recording_and_tell_of_it(tmp_path: Path) -> None:
    program = tmp_path / "child.py"
    program.write_text(LOGS_TWO.format(folder=str(tmp_path / "tb")) + "writer.close()")
    one = f"{sys.executable} {program}"
    done = finished(tmp_path / "run", "sh", "-c", f"{one}; {one}; {one} other; {sys.executable} -c 'print(1)'; exit 5")

    assert done.returncode == 5
    assert last_words(done) == ["run", "run", "run-2"]  # the same words again go on with their recording
    assert sorted(path.name for path in tmp_path.glob("run*")) == ["run", "run-2"]


def test_a_forked_child_has_no_last_word(tmp_path: Path) -> None:
    script = "import os, sys; os.fork() and os.wait(); sys.exit(0)"

    assert last_words(finished(tmp_path / "run", sys.executable, "-c", script)) == NOTHING


OTHERS = """
class Run:
    def log(self, message): return message
    def finish(self): return 1
class SummaryWriter:
    def add_scalar(self): return 2
    def close(self): return 3
def init(width): return width
"""
USES = """
import importlib, sys
for name in sys.argv[1:]:
    module = importlib.import_module(name)
    if hasattr(module, "Run"):
        run, writer = module.Run(), module.SummaryWriter()
        print(run.log("text"), run.finish(), writer.add_scalar(), writer.close(), module.init(width=4))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("content", "told"), [("", ""), (OTHERS, "text 1 2 3 4\n")])
def test_modules_of_the_users_own_with_loggers_names_are_left_alone(tmp_path: Path, content: str, told: str) -> None:
    modules = [module for module, _, _ in (*LOGGERS, *FRAMEWORKS)]
    for module in modules:
        place = tmp_path / "own"
        for name in module.split("."):
            place /= name
            place.mkdir(parents=True, exist_ok=True)
            (place / "__init__.py").write_text(content)
    done = finished(tmp_path / "run", sys.executable, "-c", USES, *modules, PYTHONPATH=str(tmp_path / "own"))

    assert (done.returncode, done.stdout) == (0, told * len(modules))
    assert len(done.stderr.splitlines()) == 1
    assert last_words(done) == NOTHING


FORKS = """
import multiprocessing, threading
from rlprobe.integrations.tap import tap

def child():
    second = SummaryWriter({folder!r} + "-child")
    second.add_scalar("eval_score", 0.1, 0)
    second.close()

held, done = threading.Event(), threading.Event()
def hold():
    with tap()._lock:
        held.set()
        done.wait()
threading.Thread(target=hold).start()
held.wait()
process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join()
done.set()
writer.close()
"""


@pytest.mark.slow
@needs_writer
def test_a_forked_process_that_logs_has_a_recording_of_its_own_and_waits_for_no_thread(tmp_path: Path) -> None:
    script = (LOGS_TWO + FORKS).format(folder=str(tmp_path / "tb"))
    done = finished(tmp_path / "run", sys.executable, "-c", script)

    assert (done.returncode, last_words(done)) == (0, ["run", "run-2"]), done.stderr
    parent, child = open_run(tmp_path / "run"), open_run(tmp_path / "run-2")
    assert (parent.column("loss").tolist(), child.column("eval_score").tolist()) == ([0.5, 0.5], [0.1])
    assert (parent.manifest.state, child.manifest.state) == ("closed", "closed")
