"""The rows of a run in the framings of wandb, TensorBoard, MLflow and Trackio: as little of each as a log needs."""

import json
import math
import sqlite3
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from rlprobe.importers.binary.tfrecord import masked_crc32c
from tests.support.writers import Row, stepped

_BLOCK = 32 << 10
_START = 1_700_000_000.0  # seconds since 1970


def varint(value: int) -> bytes:
    """An integer as protocol buffers write it."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def field(number: int, data: bytes) -> bytes:
    """A field of bytes."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def history(row: Row) -> bytes:
    """A wandb record of one row."""
    items = (field(2, key.encode()) + field(16, json.dumps(value).encode()) for key, value in row.items())
    return field(2, b"".join(field(1, item) for item in items))


def leveldb_log(records: Iterable[bytes]) -> bytes:
    """Records in wandb's framing, behind its header."""
    out = bytearray(b":W&B" + struct.pack("<HB", 0xBEE1, 0))
    for record in records:
        kind, rest = 1, record
        while True:
            if (left := _BLOCK - len(out) % _BLOCK) < 7:
                out += bytes(left)
                continue
            part, rest = rest[: left - 7], rest[left - 7 :]
            first = kind == 1
            kind = (2 if first else 3) if rest else (1 if first else 4)
            out += struct.pack("<IHB", zlib.crc32(part, zlib.crc32(bytes((kind,)))), len(part), kind) + part
            if not rest:
                break
    return bytes(out)


def wandb(path: Path, rows: list[Row]) -> Path:
    """A run folder of wandb that ended by itself."""
    path.mkdir()
    records = [history({"_step": step, **row}) for step, row in stepped(rows)]
    (path / "run-abc.wandb").write_bytes(leveldb_log([*records, field(18, b"")]))
    return path


def tfrecord(data: bytes) -> bytes:
    """A record of an event file."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc32c(length)) + data + struct.pack("<I", masked_crc32c(data))


def event(time: float, step: int, key: str, value: float) -> bytes:
    """An event with one scalar."""
    scalar = field(1, key.encode()) + b"\x15" + _float32(value)
    return b"\x09" + struct.pack("<d", time) + b"\x10" + varint(step & (1 << 64) - 1) + field(5, field(1, scalar))


def _float32(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", math.copysign(math.inf, value))


def tensorboard(path: Path, rows: list[Row]) -> Path:
    """The folder of one event file."""
    path.mkdir()
    with (path / "events.out.tfevents.1.host.0").open("wb") as file:
        file.write(tfrecord(b"\x09" + struct.pack("<d", _START) + field(3, b"brain.Event:2")))
        for time, step, key, value in points(rows):
            file.write(tfrecord(event(time, step, key, value)))
    return path


def points(rows: list[Row]) -> Iterator[tuple[float, int, str, float]]:
    """(time, step, key, value) of every number, a second a row."""
    for place, (step, row) in enumerate(stepped(rows)):
        for key, value in row.items():
            if isinstance(value, int | float):
                yield _START + place, step, key, float(value)


def mlflow_files(path: Path, rows: list[Row]) -> Path:
    """The folder of a run in MLflow's file store."""
    (path / "params").mkdir(parents=True)
    (path / "metrics").mkdir()
    (path / "meta.yaml").write_text("status: 3\nrun_id: abc\n")
    lines: dict[str, list[str]] = {}
    for time, step, key, value in points(rows):
        lines.setdefault(key, []).append(f"{round(time * 1000)} {value} {step}\n")
    for key, held in lines.items():
        file = path / "metrics" / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(held))
    return path


def mlflow_database(path: Path, rows: list[Row]) -> Path:
    """MLflow's table of metrics, NaN and infinities as it stores them."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE metrics (key, value FLOAT, timestamp, run_uuid, step, is_nan)")
        connection.executemany(
            "INSERT INTO metrics VALUES (?, ?, ?, 'abc', ?, ?)",
            (
                (key, _stored(value), round(time * 1000), step, math.isnan(value))
                for time, step, key, value in points(rows)
            ),
        )
        connection.commit()
    return path


def _stored(value: float) -> float:
    if math.isnan(value):
        return 0.0
    return math.copysign(1.7976931348623157e308, value) if math.isinf(value) else value


def trackio(path: Path, rows: list[Row]) -> Path:
    """Trackio's table of metrics."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE metrics (id INTEGER PRIMARY KEY, run_id, timestamp, run_name, step, metrics)")
        for step, row in stepped(rows):
            text = json.dumps(row)
            connection.execute(
                "INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES ('abc', '', 'name', ?, ?)",
                (step, text),
            )
        connection.commit()
    return path
