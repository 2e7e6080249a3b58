import csv
import json
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

from rlprobe.cli import main
from rlprobe.forensics import export
from rlprobe.forensics.groups import NoSuchSamples, group
from rlprobe.forensics.prompts import timeline
from rlprobe.forensics.query import Query, select, vocabulary
from rlprobe.forensics.question import Question, ask
from rlprobe.forensics.spot_check import spot_check
from rlprobe.opening import open_run
from rlprobe.recording.run import MemoryFeed, Run, Samples, batch_from_columns
from rlprobe.recording.sample_blocks import held_block
from tests.forensics.recordings import record
from tests.reports.snapshots import check

HOSTILE = "</pre><script>alert(1)</script>\x1b[31m=1+1\u202e"


def rows(step):
    """Two groups of four; the second group's reward grows with the step."""
    out = []
    for index in range(8):
        number = index // 4
        out.append(
            {
                "group": str(number),
                "prompt": f"What is {number} + {number}?",
                "completion": f"Let me think step by step. The sum is {index % 4}." if number else HOSTILE,
                "reward": [0.0, 0.25, 0.5, 1.0][index % 4] * (step / 4 if number else 1.0),
                "reward/correct": float(index % 4 == 3),
                "reward_text/correct": f"sum {index % 4}",
                "advantage": index % 4 - 1.5,
                "completion_tokens": 9 + index,
                "stop_reason": "eos",
            }
        )
    return out


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return record(tmp_path_factory.mktemp("views") / "run", {step: rows(step) for step in range(1, 5)})


@pytest.fixture(scope="module")
def blocks(recording):
    return open_run(recording).sample_blocks()


def test_a_group_that_a_trainer_named_by_its_step_is_found_as_it_is_shown(tmp_path):
    named = {
        step: [{"group": f"{step}/{index // 2}", "completion": "x", "reward": float(index)} for index in range(4)]
        for step in (3, 4)
    }
    blocks = open_run(record(tmp_path / "run", named)).sample_blocks()
    words = vocabulary(blocks)

    assert [row["reward"] for row in group(blocks, words, "3/1").rows] == [3.0, 2.0]
    assert group(blocks, words, "3/3/1").step == 3
    with pytest.raises(NoSuchSamples, match="expected group 7 in step 3"):
        group(blocks, words, "3/7")


def test_a_group_is_the_newest_of_its_id_unless_the_step_is_named(blocks):
    words = vocabulary(blocks)

    newest, named = group(blocks, words, "1"), group(blocks, words, "2/1")
    assert (newest.step, named.step, newest.steps) == (4, 2, 4)
    assert [row["reward"] for row in named.rows] == [0.5, 0.25, 0.125, 0.0]
    with pytest.raises(NoSuchSamples, match="it is in steps 1, 2, 3, 4"):
        group(blocks, words, "9/1")
    with pytest.raises(NoSuchSamples, match="no sample has it"):
        group(blocks, words, "7")


def test_a_timeline_tells_every_step_that_trained_on_the_prompt(blocks):
    found = timeline(blocks, vocabulary(blocks), "1 + 1")

    assert [visit.step for visit in found.visits] == [1, 2, 3, 4]
    assert [visit.reward[2] for visit in found.visits] == [0.25, 0.5, 0.75, 1.0]
    assert found.prompt == "What is 1 + 1?"
    assert [row["step"] for row in found.samples] == [1, 1, 3, 3, 4, 4]
    assert timeline(blocks, vocabulary(blocks), "What is").others[0][1] == 16
    with pytest.raises(NoSuchSamples, match="no sample has one"):
        timeline(blocks, vocabulary(blocks), "nowhere")


def test_a_spot_check_draws_from_every_level_and_the_same_each_time(blocks):
    words = vocabulary(blocks)
    first, again = (spot_check(blocks, words, 10) for _ in range(2))

    assert first.found.rows.tolist() == again.found.rows.tolist()
    assert sum(stratum.count for stratum in first.strata) == 32
    assert [stratum.drawn for stratum in first.strata] == [2] * 5 or min(s.drawn for s in first.strata) >= 1
    assert np.all(np.diff(first.found.keys) >= 0)
    other = spot_check(blocks, words, 10, seed=1)
    assert other.found.rows.tolist() != first.found.rows.tolist()


def test_a_frequent_reward_hides_no_other_from_a_spot_check():
    rewards = np.array([1.0] * 5000 + [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, np.nan, np.inf])
    held = held_block(Samples(columns={"reward": rewards, "step": np.arange(len(rewards))}, rows=len(rewards)))
    drawn = spot_check([held], vocabulary([held]), 5)

    assert [stratum.drawn for stratum in drawn.strata] == [1] * 5
    assert drawn.without == 2


def test_a_reward_function_stands_for_the_reward(recording):
    run = open_run(recording)
    answer = ask(run, Question(function="correct", where="reward == 1", limit=3))

    assert answer.found.matched == 8
    assert answer.said == "highest reward by correct first, where reward == 1"
    with pytest.raises(NoSuchSamples, match="expected one of correct, got 'format'"):
        ask(run, Question(function="format"))


def test_what_stands_for_a_measure_is_said(blocks, recording):
    assert ask(open_run(recording), Question(sort="length")).notes == ("length is completion_tokens.",)
    told = ask(open_run(recording), Question(sort="repetition")).notes
    assert told == () or "repetition" in told[0]


def test_files_hold_the_samples_that_were_asked_for(recording, tmp_path, capsys):
    base = ["samples", str(recording), "--where", "reward >= 0.5", "--sort", "reward"]
    for ending in ("csv", "parquet", "json", "html"):
        assert main([*base, "-o", str(tmp_path / f"out.{ending}")]) == 0
    assert "samples of" in capsys.readouterr().out

    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as lines:
        listed = list(csv.DictReader(lines))
    table = pq.read_table(tmp_path / "out.parquet")
    document = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    rewards = [float(row["reward"]) for row in listed]
    assert rewards == sorted(rewards, reverse=True) == table.column("reward").to_pylist()
    assert rewards == [row["reward"] for row in document["samples"]]
    assert document["schema"] == "rlprobe.samples/1"
    assert document["matched"] == len(rewards) > 5
    assert str(table.schema.field("completion_tokens").type) == "int64"
    assert HOSTILE in {row["completion"] for row in listed}

    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page
    assert "\x1b" not in page
    assert "default-src 'none'" in page
    assert page.count("<article>") == len(rewards)


def test_a_sorted_answer_too_long_to_hold_is_refused_and_a_recorded_one_streams(blocks, monkeypatch):
    monkeypatch.setattr(export, "MOST_SORTED", 10)
    monkeypatch.setattr(export, "BATCH", 3)
    words = vocabulary(blocks)

    everything = select(blocks, Query(), words)
    assert len(list(export.ordered_rows(blocks, everything))) == 32
    backwards = everything.take(np.arange(31, -1, -1))
    with pytest.raises(export.TooMany, match="Give --limit"):
        list(export.ordered_rows(blocks, backwards))


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("list", ["--sort", "reward", "--limit", "3", "--contains", "sum"]),
        ("group", ["--group", "2/1"]),
        ("timeline", ["--prompt", "1 + 1"]),
        ("spot-check", ["--spot-check", "3", "--function", "correct"]),
    ],
)
def test_pages_look_as_they_were_last_read(name, options, width, recording, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.chdir(recording.parent)
    assert main(["samples", "run", *options]) == 0
    page = capsys.readouterr().out

    check(f"samples-{name}-{width}.txt", page)
    assert all(len(line) <= width for line in page.splitlines())
    assert "\x1b" not in page


def test_the_views_as_json(recording, capsys):
    for options, schema in (
        (["--group", "1"], "rlprobe.group/1"),
        (["--prompt", "1 + 1"], "rlprobe.prompt/1"),
        (["--columns"], "rlprobe.sample-columns/1"),
        (["--sample", "2/5", "--sample", "3/0"], "rlprobe.samples/1"),
    ):
        assert main(["samples", str(recording), "--json", *options]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["schema"] == schema
    assert [(row["step"], row["sample"]) for row in document["samples"]] == [(3, 0), (2, 5)]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--where", "reward >"], "got the end"),
        (["--where", "reward + 1"], "expected a condition here, got a number"),
        (["--sort", "completion"], "expected a number here, got a text"),
        (["--sample", "12"], "expected a sample as STEP/SAMPLE"),
        (["-o", "out.xlsx"], "expected a name that ends in .json, .csv, .parquet, .html"),
        (["--limit", "0"], "expected a number from 1 on"),
        (["--group", "9/1"], "it is in steps 1, 2, 3, 4"),
    ],
)
def test_what_cannot_be_answered_is_said_in_one_line(options, told, recording, capsys):
    assert main(["samples", str(recording), *options]) == 2
    captured = capsys.readouterr()

    assert captured.out == ""
    assert told in captured.err
    assert captured.err.strip().splitlines()[-1].startswith("rlprobe: ")


def test_a_run_without_samples_says_so(tmp_path, capsys):
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps({"step": step, "reward": 0.1}) + "\n" for step in range(5)), encoding="utf-8")

    assert main(["samples", str(log)]) == 2
    assert "expected samples, got none" in capsys.readouterr().err


def test_samples_of_a_foreign_log_are_found():
    columns = {"step": np.array([1, 1, 2]), "reward": np.array([0.5, np.nan, 1.0]), "completion": ["a", None, "b"]}
    feed = MemoryFeed("memory", [batch_from_columns(np.array([1, 2]), {})], sample_columns=columns, sample_rows=3)
    answer = ask(Run(feed), Question(where="missing(reward) or 'b' in completion"))

    assert answer.found.rows.tolist() == [2, 1]


def test_questions_and_comparisons_import_neither_pandas_nor_torch(recording):
    code = """
import sys
from rlprobe.cli import main
main(["samples", sys.argv[1], "--where", "step > 1 and stop_reason == 'eos'", "--sort", "reward"])
main(["diff", sys.argv[1], sys.argv[1]])
sys.exit(bool({"pandas", "torch"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code, str(recording)], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
