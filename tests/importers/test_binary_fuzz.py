"""Binary formats under damage, noise and any content: read, counted or refused in one line."""

from contextlib import suppress
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.importers.binary.leveldb_log import LevelDbLog
from rlprobe.importers.binary.protobuf import fields, signed, varint
from rlprobe.opening import UnreadableSource, open_run
from rlprobe.recording.run import Run
from tests.importers.test_binary_formats import EVENTS, FINISHED, MLFLOW, TRACKIO
from tests.support import binary_writers
from tests.support.logs import logged_values

_ROWS = [{"step": step, "reward": step / 8, "kl": step / 64} for step in range(8)]


@settings(max_examples=80, deadline=None)
@given(records=st.lists(st.integers(0, 70_000), max_size=12), seed=st.integers(0, 255))
def test_records_of_any_size_survive_the_framing(tmp_path_factory: object, records: list[int], seed: int) -> None:
    path = tmp_path_factory.mktemp("log") / "log"  # type: ignore[attr-defined]  # pytest's factory
    held = [bytes([(seed + place) % 256]) * size for place, size in enumerate(records)]
    path.write_bytes(binary_writers.leveldb_log(held))
    log = LevelDbLog(path, start=7)

    found: list[bytes] = []
    while taken := log.take():
        found += taken
    assert found == held
    assert (log.damaged, log.torn) == (0, False)


_SOURCES = [FINISHED / "run-finished.wandb", *sorted(EVENTS.iterdir()), TRACKIO, MLFLOW]


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_damaged_files_of_real_writers_never_raise_anything_but_the_one_line(
    tmp_path_factory: object, data: st.DataObject
) -> None:
    source = data.draw(st.sampled_from(_SOURCES))
    damaged = bytearray(source.read_bytes())
    for _ in range(data.draw(st.integers(0, 6))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place : place + 4] = data.draw(st.binary(max_size=8))
    path = tmp_path_factory.mktemp("log") / source.name  # type: ignore[attr-defined]  # pytest's factory
    path.write_bytes(damaged[: data.draw(st.integers(0, len(damaged)))])

    run = _opened(path)

    assert run is None or run.rows <= 40


@settings(max_examples=100, deadline=None)
@given(noise=st.binary(max_size=400), start=st.sampled_from([b":W&B\xe1\xbe\0", b"SQLite format 3\0", b""]))
def test_noise_behind_the_mark_of_a_format_opens_or_is_refused(
    tmp_path_factory: object, noise: bytes, start: bytes
) -> None:
    path = tmp_path_factory.mktemp("log") / "log"  # type: ignore[attr-defined]  # pytest's factory
    path.write_bytes(start + noise)

    _opened(path)


@settings(max_examples=200, deadline=None)
@given(record=st.binary(max_size=300))
def test_any_record_behind_a_right_checksum_is_read_or_counted(tmp_path_factory: object, record: bytes) -> None:
    folder = tmp_path_factory.mktemp("log")  # type: ignore[attr-defined]  # pytest's factory
    good = list(map(binary_writers.history, _ROWS[:2]))
    (folder / "run-abc.wandb").write_bytes(binary_writers.leveldb_log([good[0], record, good[1]]))
    (folder / "events").write_bytes(
        b"".join(
            map(
                binary_writers.tfrecord,
                [binary_writers.event(1.0, 0, "reward", 0.5), record, binary_writers.event(2.0, 1, "reward", 0.5)],
            )
        )
    )

    for name in ("run-abc.wandb", "events"):
        run = open_run(folder / name)
        assert len(_values(run, "reward_mean")) >= 1


@given(st.integers(0, (1 << 64) - 1))
def test_integers_come_back_as_they_were_written(value: int) -> None:
    assert varint(binary_writers.varint(value), 0)[0] == value
    assert signed(value) == (value if value < 1 << 63 else value - (1 << 64))


@given(st.binary(max_size=200))
def test_fields_of_anything_end_or_are_refused(message: bytes) -> None:
    with suppress(ValueError):
        assert sum(1 for _ in fields(message)) <= len(message)


def _values(run: Run, name: str) -> list[float]:
    return list(logged_values(run, name).values())


def _opened(path: Path) -> Run | None:
    """The run of a file, None where it is refused in one line."""
    try:
        return open_run(path)
    except UnreadableSource as error:
        if len(str(error).splitlines()) > 1:
            raise
        return None
