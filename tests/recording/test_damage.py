"""Bits that flip, lines that tear, files that cannot be opened: what is left is right, and what is missing is told."""

import errno
import shutil
from pathlib import Path

import numpy as np
import pytest

from rlprobe import Recorder
from rlprobe.recorder.items import SamplesItem, StepItem
from rlprobe.recording import damage, parquet, samples
from rlprobe.recording.convert import repair
from rlprobe.recording.damage import DAMAGE, open_parquet
from rlprobe.recording.validate import validate
from tests.recording.test_live_reading import session
from tests.support.disasters import opened

STEPS = 400


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    root = tmp_path_factory.mktemp("sound") / "run"
    with Recorder(root, capture="all") as recorder:
        for step in range(STEPS):
            recorder.log_step(step, {f"metric {n}": step * 0.5 + n for n in range(4)})
            recorder.log_samples(step, [{"completion": f"text {step}", "reward": float(step)}])
    return root


@pytest.fixture
def copy(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "copy")


def flipped(content: bytes, generator: np.random.Generator) -> bytes:
    hurt = bytearray(content)
    hurt[int(generator.integers(len(hurt)))] ^= 1 << int(generator.integers(8))
    return bytes(hurt)


@pytest.mark.slow
def test_no_flipped_bit_of_the_rows_makes_a_wrong_number_or_goes_untold(copy):
    generator = np.random.default_rng(1)
    path = copy / "steps.parquet"
    content = path.read_bytes()
    for _ in range(150):
        path.write_bytes(flipped(content, generator))
        run = opened(copy)

        for n in range(4):
            assert np.array_equal(run.column(f"metric {n}"), run.steps * 0.5 + n)
        assert set(run.steps.tolist()) <= set(range(STEPS))
        assert (run.rows == STEPS) == (run.reading.unreadable == 0)


@pytest.mark.slow
def test_no_flipped_bit_of_the_samples_makes_a_wrong_text_or_goes_untold(copy):
    generator = np.random.default_rng(2)
    path = copy / "samples" / "part-000000.parquet"
    content = path.read_bytes()
    for _ in range(150):
        path.write_bytes(flipped(content, generator))
        run = opened(copy)
        read = run.samples(columns=("step", "completion", "reward"))
        run.refresh()

        if read.rows:
            steps = read.columns["step"].tolist()
            assert read.columns["completion"] == [f"text {step}" for step in steps]
            assert read.columns["reward"].tolist() == steps
        assert (read.rows == STEPS) == (run.reading.unreadable == 0)


@pytest.mark.parametrize("name", ["steps.parquet", "samples/part-000000.parquet"])
def test_every_bit_of_a_footer_is_watched(copy, name, tmp_path):
    content = (copy / name).read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    key = content.rfind(b"rlprobe.check")
    for place in range(len(content) - length - 8, len(content) - 4):
        if key <= place < key + len(b"rlprobe.check\x18\x08"):
            continue  # a file whose key is another one is a foreign writer's, which need not have a checksum
        hurt = bytearray(content)
        hurt[place] ^= 1 << place % 8
        (tmp_path / "hurt.parquet").write_bytes(hurt)
        with pytest.raises(DAMAGE):
            open_parquet(tmp_path / "hurt.parquet")


def hurt_group(path, group: int) -> None:
    """Flip a bit in the middle of a page of a row group."""
    column = open_parquet(path).metadata.row_group(group).column(3)
    content = bytearray(path.read_bytes())
    content[column.data_page_offset + column.total_compressed_size // 2] ^= 4
    path.write_bytes(content)


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """A writer with rows in several row groups, of which one is damaged, and more rows in the journal."""
    monkeypatch.setattr(parquet, "_GROUP_ROWS", 64)
    writer = session(tmp_path / "run")
    writer.write([StepItem(step, 1.0, {"a": step * 0.5}) for step in range(200)])
    writer.snapshot()
    hurt_group(tmp_path / "run" / "steps.parquet", 1)
    writer.write([StepItem(step, 1.0, {"a": step * 0.5}) for step in range(200, 210)])
    return writer


LEFT = [*range(64), *range(128, 210)]


def test_a_damaged_row_group_costs_its_own_rows_alone(groups, tmp_path):
    run = opened(tmp_path / "run")

    assert run.steps.tolist() == LEFT
    assert run.reading.unreadable == 1
    assert "steps.parquet could not be read whole" in run.reading.notes[0]
    assert "STEPS_READABLE" in [problem.id for problem in validate(tmp_path / "run")]


@pytest.mark.parametrize("late", [False, True])
def test_a_writer_goes_on_behind_a_damaged_row_group_and_keeps_the_damaged_file(groups, tmp_path, late):
    live = opened(tmp_path / "run")
    groups.write([StepItem(209, 1.0, {"a": 104.5, **({"new": 1.0} if late else {})})])
    groups.finish("closed")
    live.refresh()
    run = opened(tmp_path / "run")
    whole = opened(repair(tmp_path / "run", tmp_path / "whole"))

    assert run.steps.tolist() == live.steps.tolist() == whole.steps.tolist() == LEFT
    assert run.column("a").tolist() == [step * 0.5 for step in LEFT]
    assert run.reading.unreadable >= 1
    assert validate(tmp_path / "whole") == []


@pytest.mark.parametrize("kind", ["parquet", "journal"])
def test_a_file_that_cannot_be_opened_for_a_moment_is_not_taken_for_a_damaged_one(tmp_path, monkeypatch, kind):
    writer = session(tmp_path / "run")
    writer.steps.limit = writer.samples.limit = 600  # bytes of a journal file: there are several
    for first in (0, 20):
        for step in range(first, first + 20):
            writer.write([SamplesItem(step, 1.0, [{"completion": f"{step}"}]), StepItem(step, 1.0, {"a": 1.0})])
        if first == 0:
            writer.snapshot()
            writer.write_parts()
    left = []

    def refuse(*arguments: object, **named: object) -> None:
        left.append(arguments)
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as broken:
        broken.setattr(*((Path, "read_bytes") if kind == "journal" else (damage.pq, "ParquetFile")), refuse)
        for snapshot in (writer.snapshot, writer.write_parts):
            with pytest.raises(OSError, match="Too many open files"):
                snapshot()
    writer.finish("closed")
    run = opened(tmp_path / "run")

    assert left
    assert run.steps.tolist() == list(range(40))
    assert run.samples(columns=("completion",)).columns["completion"] == [f"{step}" for step in range(40)]
    assert not list((tmp_path / "run").rglob("*.damaged-*"))


def test_a_torn_event_costs_itself_and_not_the_first_of_the_next_session(tmp_path):
    for mine in (1, 2):
        with Recorder(tmp_path / "run") as recorder:
            recorder.log_event("custom", mine=mine)
        events = tmp_path / "run" / "events.jsonl"
        events.write_bytes(events.read_bytes()[:-7])  # the last event of each session is torn
    with Recorder(tmp_path / "run") as recorder:
        recorder.log_event("custom", mine=3)
    run = opened(tmp_path / "run")

    assert [event.fields["mine"] for event in run.events if event.kind == "custom"] == [1, 2, 3]
    assert run.reading.unreadable == 2


def test_samples_are_read_whole_while_they_move_from_the_journal_into_parts(tmp_path, monkeypatch):
    writer = session(tmp_path / "run")
    writer.write([SamplesItem(step, 1.0, [{"completion": f"{step}"}]) for step in range(50)])
    run = opened(tmp_path / "run")
    listed = samples.part_files

    def moved_meanwhile(root):
        """The parts as they are listed; right behind that everything moves out of the journal."""
        found = listed(root)
        monkeypatch.setattr(samples, "part_files", listed)
        assert writer.write_parts() == 50
        return found

    monkeypatch.setattr(samples, "part_files", moved_meanwhile)
    read = run.samples(columns=("completion",))

    assert read.columns["completion"] == [f"{step}" for step in range(50)]
    assert run.samples(columns=("completion",)).rows == 50
