"""Real processes: a training that is halted, one that is killed, a watch that is killed, a watch beside training."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rlprobe import open_run
from rlprobe.integrations import beside
from rlprobe.integrations.beside import Guardian
from tests.guardian.test_channels import PATIENCE, Inbox

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="signals and process groups")]

LONG = 120  # seconds for what takes one on a quiet machine


_started: "list[subprocess.Popen[str]]" = []


@pytest.fixture(autouse=True)
def _none_is_left() -> Iterator[None]:
    """End and reap what a test started, also where it failed: a forgotten process warns in some later test."""
    yield
    while _started:
        process = _started.pop()
        process.kill()
        with process:  # closes its pipes and waits for its end
            pass


def start(*words: str) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-m", *words], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    _started.append(process)
    return process


def training(run: Path, broken_from: int, *words: str) -> "subprocess.Popen[str]":
    process = start("tests.guardian.training", str(run), str(broken_from), *words)
    assert process.stdout is not None
    assert process.stdout.readline() == "training\n"
    return process


def watching(run: Path, *words: str) -> "subprocess.Popen[str]":
    return start("rlprobe", "watch", str(run), "--interval", "0.1", *words)


def until(line: str, process: "subprocess.Popen[str]") -> str:
    """The first line of a process's output that holds these words; fails when the output ends without it."""
    assert process.stdout is not None
    for got in process.stdout:
        if line in got:
            return got
    raise AssertionError(f"{line!r} was never printed")


def eventually(holds: Callable[[], bool]) -> None:
    """Wait for what another process does in its own time."""
    deadline = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_training_is_halted_with_reason_evidence_and_the_way_back(tmp_path: Path) -> None:
    run = tmp_path / "run"
    watch = watching(run, "--halt")
    until("Waiting", watch)
    trained = training(run, 60)
    out, err = trained.communicate(timeout=LONG)
    page, _ = watch.communicate(timeout=LONG)

    assert trained.returncode == 0
    assert "stopped at" in out
    assert "training is asked to halt: NUMERIC_NAN loss since step 60" in err
    assert "roll back to checkpoint out/checkpoint-30" in err
    assert watch.returncode == 1
    assert "Asked training to halt" in page
    assert "FAILING" in page
    (halt,) = [event for event in open_run(run).events if event.kind == "halt"]
    assert halt.fields["rollback_checkpoint"] == "out/checkpoint-30"
    assert halt.fields["findings"] == ["NUMERIC_NAN[loss]@60"]
    assert {line["metric"] for line in halt.fields["evidence"]} >= {"loss"}  # type: ignore[attr-defined]  # a list of objects
    assert json.loads((run / "control.json").read_text())["request"] == "halt"


def test_without_the_word_training_is_left_alone_and_the_halt_is_only_named(tmp_path: Path) -> None:
    trained = training(tmp_path / "run", 60)
    watch = watching(tmp_path / "run")
    told = until("Would ask training to halt", watch)

    assert trained.poll() is None
    assert not (tmp_path / "run" / "control.json").exists()
    assert "NUMERIC_NAN" in told
    Path(f"{tmp_path / 'run'}.stop").touch()
    trained.communicate(timeout=LONG)
    watch.communicate(timeout=LONG)
    assert watch.returncode == 1


def test_a_killed_watch_is_started_again_and_sends_nothing_twice_and_a_killed_training_is_told(tmp_path: Path) -> None:
    inbox = Inbox()
    words = ("--alert", inbox.url, "--json", "--config", str(tmp_path / "doctor.toml"))
    (tmp_path / "doctor.toml").write_text("[guardian]\nresume_seconds = 0\n")
    trained = training(tmp_path / "run", 60)
    try:
        first = watching(tmp_path / "run", *words)
        title = ""
        while not title.startswith("CRITICAL: "):  # a watch that looked between the first two rows warned of one
            title = json.loads(inbox.posts.get(timeout=LONG)[1])["title"]
            assert "NUMERIC_NAN" in title
        os.kill(first.pid, signal.SIGKILL)
        first.communicate(timeout=LONG)
        second = watching(tmp_path / "run", *words)
        assert "NUMERIC_NAN" in until('"kind": "known"', second)
        os.kill(trained.pid, signal.SIGKILL)
        page, _ = second.communicate(timeout=LONG)
        assert json.loads(inbox.posts.get(timeout=PATIENCE)[1])["title"] == f"DIED: {tmp_path.name}/run"
        assert inbox.posts.empty()
    finally:
        trained.kill()
        trained.communicate()
        inbox.close()

    last = json.loads(page.splitlines()[-1])
    assert second.returncode == 1
    assert (last["kind"], last["diagnosis"]["verdict"]) == ("diagnosis", "failing")
    assert last["diagnosis"]["run"]["state"] == "crashed"


def test_a_rank_that_is_killed_while_the_run_goes_on_is_told_once_and_sent(tmp_path: Path) -> None:
    run, gates, inbox = tmp_path / "run", [tmp_path / "gate-0", tmp_path / "gate-1"], Inbox()
    ranks = [start("tests.recording.rank_worker", str(run), str(rank), "2", "5", str(gates[rank])) for rank in (0, 1)]
    look = ("--once", "--json", "--alert", inbox.url)
    try:
        eventually(lambda: all(gate.exists() for gate in gates))
        before, _ = watching(run, *look).communicate(timeout=LONG)
        os.kill(ranks[1].pid, signal.SIGKILL)
        ranks[1].communicate(timeout=LONG)
        told, _ = watching(run, *look).communicate(timeout=LONG)
        again, _ = watching(run, *look).communicate(timeout=LONG)
        sent = json.loads(inbox.posts.get(timeout=PATIENCE)[1])
        assert inbox.posts.empty()
    finally:
        ranks[0].kill()
        inbox.close()
    lost = [json.loads(line) for line in told.splitlines() if '"rank_lost"' in line]
    replayed, _ = watching(run, "--replay", "--json").communicate(timeout=LONG)

    assert "rank_lost" not in before + again + replayed  # a replay does not know when
    assert "ended without closing" in replayed.splitlines()[-1]
    assert [one["text"] for one in lost] == [
        "Rank 1 of 2 ended without closing its recording, after step 5 where rank 0 is at step 5."
    ]
    assert sent["title"] == f"RANK DIED: {tmp_path.name}/run"
    assert "Rank 1 of 2" in sent["message"]


def alive(run: Path) -> bool:
    """Whether a watch of the run is at work."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"watch" in words and str(run).encode() in words:
            return True
    return False


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks the watch up in /proc")
def test_a_guardian_beside_training_halts_it_and_ends_with_it(tmp_path: Path) -> None:
    run = tmp_path / "run"
    trained = training(run, 60, "beside")
    out, err = trained.communicate(timeout=LONG)

    assert trained.returncode == 0
    assert "stopped at" in out
    assert "training is asked to halt: NUMERIC_NAN" in err
    assert "The run ended" in (run / beside.LOG).read_text()
    assert not alive(run)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks the watch up in /proc")
def test_a_guardian_ends_when_the_training_beside_it_is_killed(tmp_path: Path) -> None:
    run = tmp_path / "run"
    trained = training(run, 0, "beside")
    eventually(lambda: (run / beside.LOG).exists() and "Watching" in (run / beside.LOG).read_text())
    assert alive(run)
    os.kill(trained.pid, signal.SIGKILL)
    trained.communicate(timeout=LONG)

    eventually(lambda: not alive(run))
    assert "The run died" in (run / beside.LOG).read_text()


def test_a_terminated_watch_ends_as_asked(tmp_path: Path) -> None:
    watch = watching(tmp_path / "run")
    until("Waiting", watch)
    watch.terminate()
    _, err = watch.communicate(timeout=LONG)

    assert (watch.returncode, err) == (143, "")


def test_a_guardian_that_cannot_start_is_said_and_training_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    guardian = Guardian(tmp_path)
    guardian.start()

    assert guardian.wait(LONG)
    assert "could not be started (FileNotFoundError" in caplog.text


def test_a_guardian_that_fails_is_said_and_training_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    guardian = Guardian(tmp_path, tmp_path / "no-such.toml")
    guardian.start()

    assert guardian.wait(LONG)
    assert "the guardian ended with code 2" in caplog.text
    assert "no-such.toml: expected readable TOML" in (tmp_path / beside.LOG).read_text()
