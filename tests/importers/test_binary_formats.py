"""wandb, TensorBoard, Trackio and MLflow: what the real writers wrote, read back; growth and damage."""

import gzip
import math
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.importers.binary.tfrecord import masked_crc32c
from rlprobe.opening import UnreadableSource, open_run
from rlprobe.recording.run import Run
from tests.support import binary_writers
from tests.support.logs import logged_values

SAMPLES = Path(__file__).parent / "samples"
FINISHED = SAMPLES / "wandb" / "offline-run-20260101_000000-finished"
KILLED = SAMPLES / "wandb" / "offline-run-20260101_000001-killed00" / "run-killed00.wandb.gz"
EVENTS = SAMPLES / "tensorboard"
TRACKIO = SAMPLES / "trackio" / "project.db"
MLFLOW = SAMPLES / "mlflow" / "mlflow.db"
MLRUNS = SAMPLES / "mlflow" / "mlruns"
_ROWS = [{"step": step, "reward": step / 8, "kl": step / 64} for step in range(8)]


def killed_run(folder: Path) -> Path:
    """The killed run's file, as it lay on the disk."""
    path = folder / "run-killed00.wandb"
    path.write_bytes(gzip.decompress(KILLED.read_bytes()))
    return path


def _values(run: Run, name: str) -> list[float]:
    return list(logged_values(run, name).values())


@pytest.mark.parametrize(
    ("path", "format"),
    [
        (FINISHED, "wandb"),
        (FINISHED / "run-finished.wandb", "wandb"),
        (EVENTS, "tensorboard"),
        (TRACKIO, "trackio"),
        (MLFLOW, "mlflow"),
        (MLRUNS / "1" / f"{1:032x}", "mlflow"),
    ],
    ids=["wandb folder", "wandb file", "tensorboard", "trackio", "mlflow database", "mlflow folder"],
)
def test_what_the_real_writer_wrote_is_read_back_whole(path: Path, format: str) -> None:
    run = open_run(path)

    assert run.manifest.format == format
    assert run.steps.tolist() == list(range(12))
    assert _values(run, "reward_mean") == [step / 16 for step in range(12)]
    assert [math.isnan(value) for value in _values(run, "kl_mean")] == [step == 7 for step in range(12)]
    assert _values(run, "loss") == [math.inf if step == 9 else 0.5 for step in range(12)]
    assert run.manifest.settings["kl_coefficient"] == 0.04
    assert run.manifest.settings["group_size"] == 8
    assert run.reading.unreadable == run.reading.bad_values == 0


def test_a_killed_run_of_wandb_gives_every_row_on_disk_and_says_that_it_did_not_end(tmp_path: Path) -> None:
    run = open_run(killed_run(tmp_path))

    assert run.rows > 60
    assert run.steps.tolist() == list(range(run.rows))
    assert run.manifest.state == "unknown"
    assert any("no exit record" in note for note in run.reading.notes)


def test_a_finished_run_of_wandb_is_closed_and_rows_without_the_step_join_the_step_before() -> None:
    run = open_run(FINISHED)

    assert run.manifest.state == "closed"
    assert run.manifest.run_id == "finished"
    assert run.complete == run.rows == 12
    assert sorted(logged_values(run, "system"))[1:] == [4, 8]  # logged beside steps 0, 4 and 8


@pytest.mark.parametrize("cut", [1, 6, 7, 8, 40, 3000])
def test_a_torn_tail_costs_the_torn_row_alone(tmp_path: Path, cut: int) -> None:
    path = killed_run(tmp_path)
    whole = open_run(path).rows
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - cut)

    run = open_run(path)

    assert whole - 8 < run.rows <= whole
    assert run.steps.tolist() == list(range(run.rows))
    assert run.reading.unreadable == 1


def test_a_flipped_bit_is_found_by_its_checksum_and_costs_one_row(tmp_path: Path) -> None:
    path = binary_writers.wandb(tmp_path / "run", _ROWS) / "run-abc.wandb"
    data = bytearray(path.read_bytes())
    data[data.index(b"0.046875")] ^= 1
    path.write_bytes(data)

    run = open_run(path)

    assert run.steps.tolist() == [0, 1, 2, 4, 5, 6, 7]
    assert run.reading.unreadable == 1


def test_a_record_over_many_blocks_is_put_together(tmp_path: Path) -> None:
    rows = [*_ROWS, {"step": 8, "reward": 1.0, "text": "x" * 100_000}, {"step": 9, "reward": 2.0}]

    run = open_run(binary_writers.wandb(tmp_path / "run", rows))

    assert run.steps.tolist() == list(range(10))
    assert run.reading.unreadable == 0


def test_a_log_without_history_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "run-abc.wandb").write_bytes(binary_writers.leveldb_log([]))

    with pytest.raises(UnreadableSource, match="expected rows of metrics, got none in the folder itself"):
        open_run(tmp_path)
    with pytest.raises(UnreadableSource, match="expected rows of metrics, got none"):
        open_run(tmp_path / "run-abc.wandb")


def test_a_run_that_logged_to_its_console_only_is_read_from_there_with_its_configuration(tmp_path: Path) -> None:
    (tmp_path / "run-abc.wandb").write_bytes(binary_writers.leveldb_log([]))
    files = tmp_path / "files"
    files.mkdir()
    files.joinpath("config.yaml").write_text(
        "_wandb:\n    value:\n        cli_version: 0.31.0\nalgorithm:\n    value:\n        kl_ctrl:\n"
        '            kl_coef: 0.001\nbeta:\n    desc: null\n    value: 0.04\nname:\n    value: "a: b"\n'
    )
    files.joinpath("output.log").write_text(
        "".join(f"step:{step} - actor/entropy:{1 / step} - critic/score/mean:0.5\n" for step in range(1, 9))
    )

    run = open_run(tmp_path)

    assert logged_values(run, "entropy_mean")[4] == 0.25
    assert run.manifest.configuration["beta"] == 0.04
    assert run.manifest.configuration["algorithm/kl_ctrl/kl_coef"] == 0.001


def test_event_files_of_a_resumed_run_are_merged_and_the_resume_is_seen() -> None:
    run = open_run(EVENTS)

    assert run.rewinds == 1
    assert "2 event files are merged by time." in run.reading.notes
    assert run.steps.tolist() == list(range(12))


def test_an_event_file_with_a_flipped_bit_loses_that_number_alone(tmp_path: Path) -> None:
    path = binary_writers.tensorboard(tmp_path / "run", _ROWS) / "events.out.tfevents.1.host.0"
    data = bytearray(path.read_bytes())
    place = data.rindex(b"reward")
    data[place] ^= 1
    path.write_bytes(data)

    run = open_run(path)

    assert sorted(logged_values(run, "kl_mean")) == list(range(8))
    assert sorted(logged_values(run, "reward_mean")) == list(range(7))
    assert run.reading.unreadable == 1


def test_a_length_that_lies_allocates_nothing_and_is_counted(tmp_path: Path) -> None:
    path = binary_writers.tensorboard(tmp_path / "run", _ROWS) / "events.out.tfevents.1.host.0"
    length = struct.pack("<Q", 1 << 62)
    with path.open("ab") as file:
        file.write(length + struct.pack("<I", masked_crc32c(length)) + b"x" * 64)

    run = open_run(path)

    assert run.rows == 8
    assert run.reading.unreadable == 1


def test_the_link_to_the_latest_run_is_followed_when_it_is_named(tmp_path: Path) -> None:
    binary_writers.wandb(tmp_path / "run-1", _ROWS)
    (tmp_path / "latest-run").symlink_to("run-1")

    assert open_run(tmp_path / "latest-run").rows == 8
    assert open_run(tmp_path).rows == 8


@pytest.mark.parametrize(
    ("tensor", "value"),
    [
        (b"\x08\x01" + b"\x2a\x04" + struct.pack("<f", 0.1), 0.1),  # packed float_val
        (b"\x08\x01" + b"\x2d" + struct.pack("<f", 0.1), 0.1),  # float_val
        (b"\x08\x01" + b"\x22\x04" + struct.pack("<f", 0.1), 0.1),  # tensor_content
        (b"\x08\x02" + b"\x32\x08" + struct.pack("<d", 1 / 3), 1 / 3),  # packed double_val
        (b"\x08\x01" + b"\x2a\x08" + struct.pack("<ff", 1, 2), None),  # two numbers are no scalar
    ],
)
def test_scalars_that_are_tensors_are_read(tmp_path: Path, tensor: bytes, value: float | None) -> None:
    def summary(key: str, held: bytes) -> bytes:
        return binary_writers.field(5, binary_writers.field(1, binary_writers.field(1, key.encode()) + held))

    scalar = summary("loss", binary_writers.field(8, tensor))
    (tmp_path / "events").write_bytes(
        binary_writers.tfrecord(binary_writers.event(1.0, 4, "reward", 0.5))
        + binary_writers.tfrecord(b"\x09" + struct.pack("<d", 1.0) + b"\x10\x04" + scalar)
    )

    assert logged_values(open_run(tmp_path / "events"), "loss") == ({} if value is None else {4: value})


def _wandb_grows(folder: Path, rows: int) -> Path:
    path = folder / "run-abc.wandb"
    path.write_bytes(binary_writers.leveldb_log(map(binary_writers.history, _ROWS[:rows])))
    return path


def _events_grow(folder: Path, rows: int) -> Path:
    shutil.rmtree(folder / "events", ignore_errors=True)
    return binary_writers.tensorboard(folder / "events", _ROWS[:rows])


def _trackio_grows(folder: Path, rows: int) -> Path:
    (folder / "a.db").unlink(missing_ok=True)
    return binary_writers.trackio(folder / "a.db", _ROWS[:rows])


def _mlflow_grows(folder: Path, rows: int) -> Path:
    (folder / "mlflow.db").unlink(missing_ok=True)
    return binary_writers.mlflow_database(folder / "mlflow.db", _ROWS[:rows])


def _mlruns_grow(folder: Path, rows: int) -> Path:
    shutil.rmtree(folder / "run", ignore_errors=True)
    return binary_writers.mlflow_files(folder / "run", _ROWS[:rows])


@pytest.mark.parametrize("grow", [_wandb_grows, _events_grow, _trackio_grows, _mlflow_grows, _mlruns_grow])
def test_a_growing_log_is_read_on_from_where_it_stopped(tmp_path: Path, grow: Callable[[Path, int], Path]) -> None:
    run = open_run(grow(tmp_path, 3))
    assert run.steps.tolist() == [0, 1, 2]
    grow(tmp_path, 8)

    assert run.refresh() >= 5
    assert run.steps.tolist() == list(range(8))
    assert _values(run, "reward_mean") == [step / 8 for step in range(8)]
    assert run.refresh() == 0


@settings(max_examples=40, deadline=None)
@given(cut=st.integers(7, 1200))
def test_a_wandb_file_read_in_two_polls_is_the_file_read_in_one(tmp_path_factory: object, cut: int) -> None:
    folder = tmp_path_factory.mktemp("log")  # type: ignore[attr-defined]  # pytest's factory
    path = _wandb_grows(folder, 8)
    data = path.read_bytes()
    path.write_bytes(data[:cut])
    run = _opened(path)
    path.write_bytes(data)
    if run is not None:
        run.refresh()
        assert _values(run, "reward_mean") == [step / 8 for step in range(8)]
        assert run.reading.unreadable == 0


def test_the_samples_name_no_person_and_no_machine() -> None:
    words = [os.uname().nodename.encode(), b"/root", b"/tmp", b"/work", b"@"]
    for path in SAMPLES.rglob("*"):
        if path.is_file() and path.parts[len(SAMPLES.parts)] in ("wandb", "tensorboard", "trackio", "mlflow"):
            data = path.read_bytes()
            held = gzip.decompress(data) if path.suffix == ".gz" else data
            assert not [word for word in words if len(word) > 3 and word in held], path


def _opened(path: Path) -> Run | None:
    """The run of a file, None where it is refused in one line."""
    try:
        return open_run(path)
    except UnreadableSource as error:
        if len(str(error).splitlines()) > 1:
            raise
        return None
