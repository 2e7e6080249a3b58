"""The README's blocks do what they say, and its picture shows what the demo says."""

import html
import json
import re
import runpy
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from bench import readme

from rlprobe import diagnose, open_run
from rlprobe.cli import main
from tests.docs.blocks import ROOT, Block, blocks

README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "diagnosis.svg"
LOG = Path("outputs/checkpoint-500/trainer_state.json")  # what the README calls it


def _block(*, holding: str) -> Block:
    (found,) = [block for block in blocks(README) if block.language == "python" and holding in block.body]
    return found


def _run(block: Block, **names: object) -> None:
    exec(compile("\n" * block.line + block.body, str(README), "exec"), names)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _step(step: int) -> tuple[dict[str, float], list[dict[str, object]]]:
    """A step of a loop that learns: entropy falls, rewards rise."""
    rng = np.random.default_rng(step)
    right = rng.random(32) < 0.2 + 0.006 * step
    samples = [
        {"group": str(i // 8), "prompt": f"{i // 8}+1=", "completion": f"{i} words", "reward": float(right[i])}
        for i in range(32)
    ]
    return {"entropy_mean": 2.0 - 0.01 * step, "grad_norm": 0.7 + 0.1 * rng.random()}, samples


def test_the_loop_block_records_what_it_logs(elsewhere: Path) -> None:
    _run(_block(holding="train_one_step"), train_one_step=_step)

    run = open_run("runs/my-loop")
    assert run.rows == 100
    assert {"entropy_mean", "grad_norm", "reward_mean", "zero_variance_group_fraction"} <= set(run.metrics)


def test_the_log_block_tells_what_is_wrong(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    LOG.parent.mkdir(parents=True)
    rows = [{"step": step, "reward": 0.5, "reward_std": 0.0, "kl": 0.0, "loss": 0.0} for step in range(1, 61)]
    LOG.write_text(json.dumps({"global_step": 60, "log_history": rows}), encoding="utf-8")

    _run(_block(holding="open_run"))
    told = capsys.readouterr().out.strip()
    code = main(["doctor", str(LOG)])

    assert told == diagnose(open_run(LOG)).sentence
    assert told in " ".join(capsys.readouterr().out.split())
    assert code in (0, 1)


@pytest.mark.slow
@pytest.mark.trl
@pytest.mark.filterwarnings("default")  # the trainer's own
def test_the_trainer_block_records_a_trainer(elsewhere: Path, untaught_model: Path) -> None:
    from tests.integrations.trl_lab import build

    _run(_block(holding="attach"), trainer=build(untaught_model, elsewhere / "out", max_steps=3))

    assert open_run("runs/my-run").rows == 3


def test_the_numpy_loop_learns_and_is_found_healthy(elsewhere: Path) -> None:
    program = runpy.run_path(str(ROOT / "examples" / "numpy_loop.py"))

    program["train"](Path("run"), steps=120)

    run = open_run("run")
    assert diagnose(run).verdict == "healthy"
    assert run.column("reward_mean")[-1] > run.column("reward_mean")[0] + 0.3


@pytest.mark.slow
def test_the_demo_ends_with_the_length_hack_as_root(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--out", "run", "--steps", "150"]) == 0

    shown = capsys.readouterr().out
    first = diagnose(open_run("run")).incidents[0]
    assert first.root.startswith("REWARD_HACK_LENGTH@")
    assert shown.index("REWARD_HACK_LENGTH") < shown.index("What to try")


def test_the_picture_loads_nothing_and_tells_what_the_text_tells() -> None:
    drawn = PICTURE.read_text(encoding="utf-8")
    told = readme.README.read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0]
    shown = _squeezed(" ".join(text.text or "" for text in ElementTree.fromstring(drawn).iter() if text.text))

    assert not re.search(r"href|@import|url\((?!#)|<script|<image|<foreignObject", drawn)
    assert "REWARD_HACK_LENGTH" in told
    for line in filter(None, told.splitlines()):
        for words in re.split(r"\s{2,}|─+", line):
            assert _squeezed(words) in shown


def _squeezed(text: str) -> str:
    return re.sub(r"[\s\u00a0]+", "", html.unescape(text))


def test_a_block_is_filled_between_its_marks_and_nothing_else_changes() -> None:
    before = "a\n<!-- measured: made by x -->\nold\n<!-- end -->\nb\n"

    once = readme.filled(before, "measured", r"new \1")

    assert once == "a\n<!-- measured: made by x -->\nnew \\1\n<!-- end -->\nb\n"
    assert readme.filled(once, "measured", r"new \1") == once
    with pytest.raises(readme.Unfilled, match="expected a block"):
        readme.filled("nothing", "measured", "new")


def test_a_measurement_is_told_with_its_date_and_without_what_it_lacks() -> None:
    totals: Mapping[str, object] = {
        "time": "2026-11-30T12:00:00+00:00", "machine": "x86_64 Python 3.11.7", "commit": "abc1234",
        "noise_runs": 300, "noise_flagged": 1,
    }  # fmt: skip

    table = readme.measured(totals)

    assert "2026-11-30, x86_64 Python 3.11.7, commit abc1234" in table
    assert table.splitlines()[2:] == ["| simulated healthy noise flagged | 1 of 300 runs |"]
    with pytest.raises(readme.Unfilled):
        readme.measured({"time": "x", "machine": "y", "commit": "z"})


def test_the_numbers_of_the_readme_are_the_newest_measurement() -> None:
    block = README.read_text(encoding="utf-8").partition("<!-- measured: ")[2].partition("<!-- end -->")[0]
    kept = readme.HISTORY.read_text(encoding="utf-8").splitlines() if readme.HISTORY.is_file() else []

    assert block.partition("\n")[2].strip() == (readme.measured(json.loads(kept[-1])) if kept else "")
