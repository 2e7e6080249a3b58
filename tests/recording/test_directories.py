"""Directories that are no recording, damaged ones, copies, and what validate says of each."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from rlprobe import Recorder, open_run
from rlprobe.recording.convert import export, repair, write_recording
from rlprobe.recording.reader import RecordingFeed, UnreadableRecording, is_recording
from rlprobe.recording.run import Batch, Event, Manifest, MemoryFeed, Run
from rlprobe.recording.validate import RULES, validate

SECRET_TEXT = "the answer is 42"


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    root = tmp_path_factory.mktemp("sound") / "run"
    for first in (0, 30):
        with Recorder(root, algorithm="grpo", settings={"group_size": 4}, capture="all") as recorder:
            for step in range(first, 40):
                recorder.log_step(step, a=float(step), **({"late": float("nan")} if step > 35 else {}))
                rows = [
                    {
                        "prompt": SECRET_TEXT,
                        "completion": SECRET_TEXT,
                        "reward": 1.0,
                        "token_ids": [1, 2],
                        "note": SECRET_TEXT,
                    }
                ]
                recorder.log_samples(step, rows)
            recorder.log_event("checkpoint", step=step, path="ckpt")
    return root


@pytest.fixture
def copy(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "copy")


def test_what_is_no_recording_is_refused_with_one_line(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "manifest.json").write_text('{"name": "a web app"}')
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("x")
    for name in ("missing", "file", "empty", "foreign", "other"):
        with pytest.raises(UnreadableRecording) as refusal:
            RecordingFeed(tmp_path / name)

        assert str(tmp_path / name) in str(refusal.value)
        assert "\n" not in str(refusal.value)
        assert not is_recording(tmp_path / name)


@pytest.mark.parametrize("part", ["manifest.json", "steps.parquet", "events.jsonl", "samples/part-000000.parquet"])
def test_a_part_without_an_end_is_refused_before_it_is_read(copy, part):
    (copy / part).unlink(missing_ok=True)
    os.mkfifo(copy / part)

    for read in (RecordingFeed, validate):
        with pytest.raises(UnreadableRecording, match=r"expected a file, got another kind of path"):
            read(copy)


def test_a_copy_inside_the_recording_is_refused(copy):
    before = sorted(copy.rglob("*"))

    with pytest.raises(UnreadableRecording, match=r"expected a path outside the recording"):
        export(copy, copy / "sub" / "deeper")
    assert sorted(copy.rglob("*")) == before


def test_a_newer_major_version_is_refused_and_a_newer_minor_one_is_read(copy):
    manifest = json.loads((copy / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps({**manifest, "version": "1.99", "new": 1}))
    assert Run(RecordingFeed(copy)).rows == 40
    (copy / "manifest.json").write_text(json.dumps({**manifest, "version": "2.0"}))
    with pytest.raises(UnreadableRecording, match="Upgrade rlprobe"):
        RecordingFeed(copy)
    with pytest.raises(UnreadableRecording, match="Upgrade rlprobe"):
        Recorder(copy)

    assert is_recording(copy)


def test_a_sound_recording_breaks_no_rule(sound):
    assert validate(sound) == []
    assert is_recording(sound)


@pytest.mark.parametrize("damage", ["{", "[]", "", "\x00\xff", "[" * 5000])
def test_a_recording_with_a_damaged_manifest_is_read_without_what_it_said(copy, damage):
    (copy / "manifest.json").write_text(damage)
    run = Run(RecordingFeed(copy))

    assert run.rows == 40
    assert run.reading.notes
    assert [problem.id for problem in validate(copy)] == ["MANIFEST_THERE"]
    with Recorder(copy) as recorder:
        assert recorder.segment == 2


def test_a_damaged_parquet_file_is_told_and_the_rest_is_read(copy):
    content = (copy / "steps.parquet").read_bytes()
    (copy / "steps.parquet").write_bytes(content[: len(content) // 2])
    run = Run(RecordingFeed(copy))

    assert run.rows == 0
    assert run.reading.unreadable == 1
    assert len(run.samples()) == 40
    assert "STEPS_READABLE" in [problem.id for problem in validate(copy)]


@pytest.mark.slow
def test_no_cut_and_no_flip_of_any_file_makes_a_reader_raise(sound, tmp_path):
    generator = np.random.default_rng(0)
    for path in [p for p in sound.rglob("*") if p.is_file() and p.stat().st_size]:
        content = path.read_bytes()
        for number in range(25):
            target = tmp_path / "damaged"
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(sound, target)
            place = int(generator.integers(len(content)))
            hurt = (
                content[:place]
                if number % 2
                else content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :]
            )
            (target / path.relative_to(sound)).write_bytes(hurt)
            try:
                run = Run(RecordingFeed(target))
            except UnreadableRecording:
                assert path.name == "manifest.json"
                continue
            run.samples()
            validate(target)
            assert run.rows <= 40


def test_an_export_holds_every_number_and_no_text(sound, tmp_path):
    copy = export(sound, tmp_path / "export")
    before, after = Run(RecordingFeed(sound)), Run(RecordingFeed(copy))

    for path in copy.rglob("*"):
        assert not path.is_file() or SECRET_TEXT.encode() not in path.read_bytes(), path
    assert after.metrics == before.metrics
    assert all(after.column(n).tobytes() == before.column(n).tobytes() for n in before.metrics)
    assert after.samples().columns["reward"].tolist() == before.samples().columns["reward"].tolist()
    assert not {"prompt", "completion", "token_ids", "note"} & set(after.samples().columns)
    assert validate(copy) == []


def test_a_repaired_copy_is_sound_and_holds_everything_that_could_be_read(copy, tmp_path):
    (copy / "events.jsonl").write_bytes((copy / "events.jsonl").read_bytes()[:-5])
    (copy / "manifest.json").write_text("{")
    journal = copy / "journal" / "steps-0001-000000000000.mpk"
    journal.write_bytes(b"\x99" * 50)
    assert {problem.id for problem in validate(copy)} == {"MANIFEST_THERE", "JOURNAL_WHOLE", "EVENTS_WHOLE"}
    whole = repair(copy, tmp_path / "whole")
    before, after = Run(RecordingFeed(copy)), Run(RecordingFeed(whole))

    assert validate(whole) == []
    assert after.steps.tolist() == before.steps.tolist()
    assert len(after.overwritten) == len(before.overwritten) == 1
    assert after.samples().columns["completion"] == before.samples().columns["completion"]
    assert [event.kind for event in after.events] == [event.kind for event in before.events]


def test_a_copy_never_overwrites_anything(sound, copy):
    with pytest.raises(UnreadableRecording, match="free"):
        export(sound, copy)


def test_a_prompt_that_serves_as_an_id_is_sent_as_its_hash(tmp_path, monkeypatch):
    """Trainers that have no numbers for their groups take the prompt; on several ranks its name is in events too."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        with Recorder(tmp_path / "run", record_all_ranks=True, capture="all") as recorder:
            recorder.log_step(1, step_seconds=1.0)
            named = [{"group": group, "group_size": 2, "reward": float(rank)} for group in (SECRET_TEXT, "7", "x" * 99)]
            recorder.log_samples(1, named)
    root = export(tmp_path / "run", tmp_path / "sent")
    whole, sent = open_run(tmp_path / "run"), open_run(root)
    held = b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())

    assert SECRET_TEXT.encode() not in held
    assert b"x" * 99 not in held
    groups = sent.samples().columns["group"]
    assert [groups.count(name) for name in dict.fromkeys(groups)] == [2, 2, 2]
    assert "7" in groups
    assert SECRET_TEXT not in groups
    for name in ("reward_std_group_mean", "zero_variance_group_fraction"):
        assert sent.column(name).tolist() == whole.column(name).tolist()


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize(
    "make", [export, repair, lambda path, target: write_recording(Run(RecordingFeed(path)), target)]
)
def test_a_copy_that_was_interrupted_leaves_nothing_behind(sound, tmp_path, monkeypatch, make, there):
    def interrupted(*_):
        assert not (tmp_path / "whole").exists() or there
        raise KeyboardInterrupt

    if there:
        (tmp_path / "whole").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr("rlprobe.recording.convert.save_manifest", interrupted)
        with pytest.raises(KeyboardInterrupt):
            make(sound, tmp_path / "whole")
    left = [path for path in tmp_path.rglob("*") if path != tmp_path / "whole"]
    make(sound, tmp_path / "whole")

    assert left == []
    assert [path.name for path in tmp_path.iterdir()] == ["whole"]
    assert validate(tmp_path / "whole") == []


def _fifo(path):
    os.mkfifo(path)


JUNK = {
    "a pipe": ("rank-002", _fifo),
    "a file": ("rank-002", lambda path: path.write_text("x")),
    "an empty folder": ("rank-002", lambda path: path.mkdir()),
    "a link to nothing": ("rank-002", lambda path: path.symlink_to("absent")),
    "a link to the run": ("rank-002", lambda path: path.symlink_to(".")),
    "a link above the run": ("rank-002", lambda path: path.symlink_to("..")),
    "a link to another folder": ("rank-002", lambda path: path.symlink_to("/etc")),
    "another spelling": ("rank-00001", lambda path: shutil.copytree(path.parent / "rank-001", path)),
    "rank 0 again": ("rank-000", lambda path: shutil.copytree(path.parent / "rank-001", path)),
    "no number": ("rank-abc", lambda path: shutil.copytree(path.parent / "rank-001", path)),
    "a number beyond all": ("rank-9999999999", lambda path: shutil.copytree(path.parent / "rank-001", path)),
}


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory):
    root = tmp_path_factory.mktemp("ranks") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORLD_SIZE", "2")
        for rank in ("0", "1"):
            patch.setenv("RANK", rank)
            with Recorder(root, record_all_ranks=True, capture="all") as recorder:
                recorder.log_step(1, step_seconds=1.0)
                recorder.log_samples(1, [{"sample": int(rank), "completion": SECRET_TEXT, "reward": 1.0}])
    return root


@pytest.mark.parametrize("name", JUNK)
def test_what_only_has_the_name_of_a_rank_changes_nothing(two_ranks, tmp_path, name):
    root = shutil.copytree(two_ranks, tmp_path / "run")
    place, make = JUNK[name]
    make(root / place)

    for made in (root, repair(root, tmp_path / "whole"), export(root, tmp_path / "sent")):
        samples = open_run(made).samples()
        assert samples.columns["rank"].tolist() == [0, 1]
        assert RecordingFeed(made).ranks[:2] == (0, 1)
    assert [path.name for path in (tmp_path / "whole").iterdir() if path.name.startswith("rank")] == ["rank-001"]
    assert b"answer is" not in b"".join(path.read_bytes() for path in (tmp_path / "sent").rglob("*") if path.is_file())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["manifest.json", "events.jsonl"])
def test_a_file_beyond_all_bounds_is_damage_and_is_not_held_in_memory(copy, name):
    with (copy / name).open("r+b") as file:
        file.truncate(1 << 30)  # a gigabyte of nothing behind what is there
    code = (
        "import re, sys; from pathlib import Path;"
        "from rlprobe import open_run; from rlprobe.recording.validate import validate;"
        "run = open_run(sys.argv[1]); print(run.rows, run.reading.unreadable, len(validate(sys.argv[1])),"
        # not ru_maxrss, which begins with that of the process that forked this one
        "int(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1]) >> 10)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(copy)], capture_output=True, text=True, check=True)
    rows, unreadable, problems, megabytes = map(int, done.stdout.split())

    assert rows == 40
    assert problems == 1
    assert unreadable == (name == "events.jsonl")
    assert megabytes < 400


def test_an_event_of_a_line_too_long_costs_itself_alone(copy):
    whole = len(Run(RecordingFeed(copy)).events)
    with (copy / "events.jsonl").open("ab") as file:
        for size in (5 << 20, 9 << 20, 20 << 20):
            file.write(b'{"kind": "custom", "text": "' + b"x" * size + b'"}\n{"kind": "custom", "step": 3}\n')
    run = Run(RecordingFeed(copy))

    assert len(run.events) == whole + 3
    assert run.reading.unreadable == 3
    assert [problem.id for problem in validate(copy)] == ["EVENTS_WHOLE"] * 3


def test_any_run_becomes_a_recording_of_the_same_numbers(tmp_path):
    values, logged = np.array([1.0, np.nan, np.nan]), np.array([True, True, False])
    batch = Batch(
        steps=np.array([5, 7, 9]),
        columns={"loss": (values, logged)},
        events=(Event(kind="checkpoint", step=7, time=1.5, fields={"path": "x"}),),
        manifest=Manifest(format="jsonl", algorithm="grpo", settings={"group_size": 8}),
    )
    samples = {"step": np.array([5, 5]), "completion": ["a", None], "completion_tokens": np.array([1.0, np.nan])}
    run = Run(MemoryFeed("memory", [batch], samples, 2))
    after = Run(RecordingFeed(write_recording(run, tmp_path / "run")))

    assert after.steps.tolist() == [5, 7, 9]
    assert after.logged("loss").tolist() == [True, True, False]
    assert np.array_equal(after.column("loss"), values, equal_nan=True)
    assert after.manifest.settings == {"group_size": 8}
    assert after.manifest.algorithm == "grpo"
    assert after.events[0].fields["path"] == "x"
    assert after.samples(step=5).columns["completion"] == ["a", None]
    assert after.complete == 3


def test_every_rule_has_an_id_of_its_own():
    assert len({rule.id for rule in RULES}) == len(RULES)
