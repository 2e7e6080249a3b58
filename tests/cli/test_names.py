"""Paths whose names steer a terminal, break lines or are no UTF-8: read like any other, and never printed raw."""

import os
import shutil
from pathlib import Path

import pytest

from rlprobe import Recorder, open_run
from rlprobe.cli import main

ODD = os.fsdecode(b"a\nb\x1b[31m<b>\xe2\x80\xae\xff")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("plain") / "run"
    with Recorder(root, algorithm="grpo", capture="all") as recorder:
        for step in range(1, 41):
            recorder.log_step(step, loss=1.0 / step)
            recorder.log_samples(step, [{"completion": f"{step}", "reward": step % 7 / 7}])
    return root


@pytest.fixture
def odd(recorded: Path, tmp_path: Path) -> Path:
    try:
        return shutil.copytree(recorded, tmp_path / ODD)
    except OSError:
        pytest.skip("the file system takes UTF-8 alone")


def test_a_recording_of_any_name_is_read_whole(recorded: Path, odd: Path) -> None:
    plain, same = open_run(recorded), open_run(odd)

    assert same.steps.tolist() == plain.steps.tolist()
    assert same.samples().rows == plain.samples().rows == 40
    assert sum(block.table(["step"]).num_rows for block in same.sample_blocks()) == 40
    assert same.reading.notes == ()


@pytest.mark.parametrize(
    ("words", "made"),
    [
        (["doctor", "RUN"], ""),
        (["samples", "RUN", "--limit", "1"], ""),
        (["samples", "RUN", "-o", "OUT.parquet"], "OUT.parquet"),
        (["samples", "RUN", "-o", "OUT.csv"], "OUT.csv"),
        (["show", "RUN", "--step", "5"], ""),
        (["validate", "RUN", "--repair", "OUT"], "OUT"),
        (["export", "RUN", "OUT", "--no-text"], "OUT"),
        (["import", "RUN", "OUT"], "OUT"),
        (["diff", "RUN", "RUN", "--html", "OUT.html"], "OUT.html"),
        (["report", "RUN", "-o", "OUT.html"], "OUT.html"),
        (["watch", "RUN", "--once", "--plain"], ""),
        (["ls", "RUN"], ""),
        pytest.param(["demo", "--out", "OUT", "--steps", "3"], "OUT", marks=pytest.mark.slow),  # trains a policy first
        (["skill", "install", "--dir", "OUT"], "OUT"),
    ],
)
def test_no_name_steers_the_terminal(
    odd: Path, words: list[str], made: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    if words[0] == "report":
        pytest.importorskip("uplot")
    out = f"{tmp_path}/out-{ODD}"
    code = main([word.replace("RUN", str(odd)).replace("OUT", out) for word in words])

    told = "".join(capfd.readouterr())
    assert code in (0, 1, 3), told  # 1: a finding, or a file that was kept
    assert "internal error" not in told
    assert not {"\x1b", "\u202e", "\udcff"} & set(told)
    assert os.path.exists(made.replace("OUT", out)) or not made


@pytest.mark.parametrize("words", [["import", "RUN", "OUT"], ["validate", "RUN", "--repair", "OUT"]])
def test_a_copy_of_any_name_is_whole(odd: Path, words: list[str], tmp_path: Path) -> None:
    out = f"{tmp_path}/out-{ODD}"
    assert main([word.replace("RUN", str(odd)).replace("OUT", out) for word in words]) == 0

    assert open_run(out).steps.tolist() == list(range(1, 41))
    assert open_run(out).samples().rows == 40
