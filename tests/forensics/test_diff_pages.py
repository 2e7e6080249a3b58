import json
import re

import numpy as np
import pytest

from rlprobe.cli import main
from rlprobe.forensics.comparison import compare
from rlprobe.forensics.finding_differences import finding_differences
from rlprobe.recorder.recorder import Recorder
from rlprobe.recording.run import Batch, Manifest, MemoryFeed, Run, batch_from_columns
from rlprobe.reports import diff_html, diff_json, diff_page
from rlprobe.reports import json as json_report
from tests.reports.diagnoses import FAILING, HEALTHY
from tests.reports.snapshots import check
from tests.support.logs import write_rows
from tests.support.strategies import noise

ROWS = 160
HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e"


def run(name, seed, *, broken=False, learning_rate=1e-5):
    """A run with settings, four metrics and samples; broken, its reward falls and its entropy collapses at step 100."""
    late = np.arange(ROWS) >= 100
    columns = {
        "reward_mean": 0.5 + 0.02 * noise(seed, ROWS, 0.3) - 0.4 * (late & broken),
        "entropy_mean": 0.8 + 0.03 * noise(seed + 1, ROWS, 0.3) - 0.7 * (late & broken),
        "kl_mean": 0.02 + 0.002 * noise(seed + 2, ROWS, 0.3),
        "grad_norm": 0.4 + 0.03 * noise(seed + 3, ROWS, 0.3),
        HOSTILE: np.full(ROWS, 1.5),
    }
    settings = {"learning_rate": learning_rate, "group_size": 8, "seed": seed}
    manifest = Manifest(algorithm="grpo", settings=settings, state="closed")
    batch = batch_from_columns(np.arange(ROWS), columns, manifest=manifest)
    steps = np.repeat(np.arange(0, ROWS, 10), 2)
    samples = {
        "step": steps,
        "prompt": [f"question {index % 3}" for index in range(len(steps))],
        "completion": [HOSTILE if broken and step >= 100 else f"answer {step}" for step in steps.tolist()],
        "reward": np.where((steps >= 100) & broken, 0.0, 0.5) + (np.arange(len(steps)) % 2) / 10,
    }
    return Run(MemoryFeed(name, [batch], sample_columns=samples, sample_rows=len(steps)))


def compared():
    found = compare([run("before", 1)], [run("after", 50, broken=True, learning_rate=3e-5)])
    return found, finding_differences([HEALTHY], [FAILING])


@pytest.mark.parametrize("width", [80, 120])
def test_the_page_looks_as_it_was_last_read(width):
    page = diff_page.render(*compared(), width=width, color=False)

    check(f"diff-{width}.txt", page)
    assert all(len(line) <= width for line in page.splitlines())
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page) is None


def test_sides_of_several_runs_look_as_they_were_last_read():
    ours = [run(f"a{seed}", 10 * seed) for seed in (1, 2, 3)]
    theirs = [run(f"b{seed}", 10 * seed, broken=True) for seed in (4, 5, 6)]
    page = diff_page.render(
        compare(ours, theirs), finding_differences([HEALTHY] * 3, [FAILING] * 3), width=80, color=False
    )

    check("diff-several-80.txt", page)


def test_the_document_is_json_and_holds_what_the_page_tells():
    document = json.loads(json_report.document(diff_json.document(*compared())))

    assert document["schema"] == "rlprobe.diff/1"
    assert {each["metric"] for each in document["partings"]} == {"reward_mean", "entropy_mean"}
    assert all(each["step"] == 100 for each in document["partings"])
    assert {each["name"] for each in document["settings"]} == {"learning_rate", "seed"}
    assert document["prompts"]["since_step"] == 100
    assert {each["id"] for each in document["findings"]} == {finding.id for finding in FAILING.findings}


def test_the_html_page_asks_for_nothing_and_shows_hostile_texts_as_texts():
    page = diff_html.page(*compared())

    assert "default-src 'none'" in page
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert re.search(r"[\x00-\x09\x0b-\x1f\u202e]", page) is None
    assert re.search(r'(src|href)="', page) is None
    assert page.count("<svg") == 2


def log(path, seed):
    reward, kl, entropy = (noise(seed + more, 60, 0.3).tolist() for more in (0, 100, 200))
    rows = [
        {"step": step, "reward": 0.5 + reward[step] / 99, "kl": 0.1 + kl[step] / 999, "entropy": 1 + entropy[step] / 99}
        for step in range(60)
    ]
    return str(write_rows(path, rows))


def test_logs_are_compared_on_the_screen_as_json_and_as_a_page(tmp_path, capsys):
    ours, theirs = log(tmp_path / "a.jsonl", 1), log(tmp_path / "b.jsonl", 2)

    assert main(["diff", ours, theirs]) == 0
    assert "The courses do not part" in " ".join(capsys.readouterr().out.split())
    assert main(["diff", ours, theirs, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["a"][0]["rows"] == 60
    assert main(["diff", ours, ours]) == 0
    assert "the same, bit by bit, in all 60 shared rows" in " ".join(capsys.readouterr().out.split())
    assert main(["diff", ours, theirs, "--html", str(tmp_path / "d.html")]) == 0
    assert (tmp_path / "d.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_two_dashes_stand_between_the_sides(tmp_path, capsys):
    logs = [log(tmp_path / f"{seed}.jsonl", seed) for seed in range(5)]

    assert main(["diff", *logs[:3], "--", *logs[3:], "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (len(document["a"]), len(document["b"])) == (3, 2)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["a.jsonl"], "expected two sources, or several with `--` between the sides, got 1"),
        (["a.jsonl", "a.jsonl", "a.jsonl"], "got 3"),
        (["a.jsonl", "nowhere"], "nowhere: expected a recording or a log, got nothing"),
        (["a.jsonl", "a.jsonl", "--align", "tokens"], "expected tokens_total, or completion_tokens_mean"),
    ],
)
def test_what_cannot_be_compared_is_said_in_one_line(words, told, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log(tmp_path / "a.jsonl", 1)

    assert main(["diff", *words]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert told in captured.err


def test_a_live_and_a_damaged_recording_are_compared_as_far_as_they_go(tmp_path, capsys):
    recorders = [Recorder(tmp_path / name, algorithm="grpo") for name in ("live", "damaged")]
    for seed, recorder in enumerate(recorders):
        noisy = noise(seed, 40, 0.3)
        for step in range(40):
            recorder.log_step(step, {"reward_mean": 0.5 + 0.01 * float(noisy[step]), "loss": 0.1})
            recorder.log_samples(step, [{"prompt": "q", "completion": "a", "reward": 0.5}])
    recorders[1].close()
    (tmp_path / "damaged" / "events.jsonl").write_bytes(b"\x00 no event\n")
    (tmp_path / "damaged" / "manifest.json").unlink()
    assert recorders[0].flush()

    assert main(["diff", str(tmp_path / "live"), str(tmp_path / "damaged")]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "is still being written" in page
    assert "is damaged in 1 place" in page
    recorders[0].close()


def test_a_run_without_rows_is_compared_without_a_word_of_numpy():
    empty = Run(MemoryFeed("empty", [Batch(steps=np.empty(0, dtype=np.int64))]))
    page = diff_page.render(compare([empty], [run("after", 5)]), [], width=80, color=False)

    assert "Too little to say: 0 rows" in page
