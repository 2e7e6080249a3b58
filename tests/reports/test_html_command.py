"""rlprobe report: what it writes, what it refuses, and that every kind of source has a page."""

import shutil
from pathlib import Path

import pytest

from rlprobe import Recorder
from rlprobe.cli import main
from rlprobe.importers.folders.runs import runs_under
from tests.cli.test_doctor import learning, log
from tests.reports.html_pages import Reader

SAMPLES = Path(__file__).parents[1] / "importers" / "samples"


def reported(source: str, folder: Path, *words: str) -> Reader:
    """The page that the command writes of a source."""
    target = folder / "run.html"
    assert main(["report", source, "-o", str(target), *words]) == 0
    page = Reader(target.read_text(encoding="utf-8"))
    assert page.misplaced == []
    return page


def test_a_page_is_written_and_the_verdict_is_said(tmp_path, capsys):
    page = reported(log(tmp_path / "log.jsonl", learning(60)), tmp_path)

    told = capsys.readouterr().out
    assert told.startswith(f"{tmp_path / 'run.html'}: healthy, ")
    assert "Nothing that was checked is wrong." in page.text
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_the_same_source_gives_the_same_bytes(tmp_path):
    source = log(tmp_path / "log.jsonl", learning(60))
    for name in ("one.html", "two.html"):
        assert main(["report", source, "-o", str(tmp_path / name)]) == 0

    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_a_report_replaces_a_report_and_nothing_else(tmp_path, capsys):
    source = log(tmp_path / "log.jsonl", learning(30))
    target = tmp_path / "run.html"
    for _ in range(2):
        assert main(["report", source, "-o", str(target)]) == 0
    capsys.readouterr()
    before = Path(source).read_bytes()

    for wrong in (source, str(tmp_path), str(tmp_path / "no" / "run.html")):
        assert main(["report", source, "-o", wrong]) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1
        assert "expected" in told
    assert Path(source).read_bytes() == before


def test_a_run_can_be_judged_as_if_it_had_ended_earlier(tmp_path):
    source = log(tmp_path / "log.jsonl", learning(60))

    assert "steps 1 to 30" in reported(source, tmp_path, "--until", "30").text


def test_a_live_recording_and_a_damaged_one_have_pages(tmp_path):
    with Recorder(tmp_path / "live", algorithm="grpo") as recorder:
        for step, row in enumerate(learning(40)):
            recorder.log_step(step, {"reward_mean": row["reward"], "grad_norm": 1.0})
            recorder.log_samples(step, [{"prompt": "1+1", "completion": str(step), "reward": 1.0}])
        assert recorder.flush()
        live = reported(str(tmp_path / "live"), tmp_path)
    assert "still going on" in live.text
    assert "1+1" in live.text

    shutil.rmtree(tmp_path / "live" / "samples")
    steps = tmp_path / "live" / "steps.parquet"
    steps.write_bytes(steps.read_bytes()[:-40])
    damaged = reported(str(tmp_path / "live"), tmp_path)
    assert "could not be read" in damaged.text


@pytest.mark.slow
@pytest.mark.parametrize("source", sorted(SAMPLES.iterdir()), ids=lambda path: path.name)
def test_every_format_that_can_be_imported_has_a_page(source, tmp_path):
    (run, *_) = runs_under(str(source))

    assert "reward_mean" in reported(str(run), tmp_path).text
