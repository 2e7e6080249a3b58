import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.importers.rows.lines import MAX_LINE
from rlprobe.importers.rows.table import MAX_COLUMNS
from rlprobe.opening import UnreadableSource, open_run
from tests.support.logs import logged_values, run_of

_GOOD = b'{"step": 1, "reward": 0.5}\n{"step": 2, "reward": 0.75}\n'


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + _GOOD,
        _GOOD.decode().encode("utf-16"),
        _GOOD.decode().encode("utf-16-le"),
        _GOOD.decode().encode("utf-16-be"),
        _GOOD.replace(b"\n", b"\r\n"),
        _GOOD.replace(b"\n", b"\r"),
        b"\n\n" + _GOOD.replace(b"\n", b"\n\n"),
        b"\0\0\0" + _GOOD,
        gzip.compress(_GOOD),
        gzip.compress(b"\xef\xbb\xbf" + _GOOD),
    ],
    ids=["bom", "utf-16", "utf-16-le", "utf-16-be", "crlf", "cr", "blank lines", "nul hole", "gzip", "gzip bom"],
)
def test_the_same_rows_are_read_in_every_wrapping(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(data)

    run = open_run(path)

    assert logged_values(run, "reward_mean") == {1: 0.5, 2: 0.75}
    assert run.reading.unreadable == 0


def test_lines_that_are_no_objects_cost_only_themselves(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    path.write_bytes(
        _GOOD + b'{"step": 3, "rew\n[1, 2]\nnull\n"text"\n\xff\xfe\xfa\n' + deep + b'\n{"step": 4, "reward": 1.0}\n'
    )

    run = open_run(path)

    assert run.steps.tolist() == [1, 2, 4]
    assert run.reading.unreadable == 6


@pytest.mark.slow
def test_a_line_beyond_all_bounds_is_skipped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with path.open("wb") as file:
        file.write(_GOOD + b'{"step": 3, "text": "')
        for _ in range(0, MAX_LINE + (2 << 20), 1 << 20):
            file.write(b"x" * (1 << 20))
        file.write(b'"}\n{"step": 4, "reward": 1.0}\n')

    run = open_run(path)

    assert run.steps.tolist() == [1, 2, 4]
    assert run.reading.unreadable == 1


def test_bare_nan_and_infinity_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(
        b'{"step": 1, "kl": NaN, "loss": Infinity}\n{"step": 2, "kl": nan, "loss": -inf, "note": "a, nan"}\n'
    )

    run = open_run(path)

    assert sorted(logged_values(run, "kl_mean")) == [1, 2]
    assert logged_values(run, "loss") == {1: float("inf"), 2: float("-inf")}
    assert run.reading.unreadable == 0


def test_text_where_a_known_number_belongs_is_counted(tmp_path: Path) -> None:
    run = run_of(
        tmp_path, {"step": 1, "reward": "high", "kl": 0.1}, {"step": 2, "reward": 0.5, "kl": 0.1, "run": "a name"}
    )

    assert run.reading.bad_values == 1
    assert logged_values(run, "reward_mean") == {2: 0.5}


def test_a_flood_of_keys_stops_at_the_bound_and_says_so(tmp_path: Path) -> None:
    run = run_of(
        tmp_path, *({"step": step, "reward": 1.0, **{f"k{step}/{i}": 1.0 for i in range(60)}} for step in range(60))
    )

    assert len(run.metrics) == MAX_COLUMNS
    assert run.rows == 60
    assert any("keys beyond the bounds" in note for note in run.reading.notes)


def test_the_last_of_duplicate_keys_counts_and_nested_keys_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"step": 1, "reward": 1.0, "reward": 2.0, "actor": {"entropy": 0.5}, "data": {"kl": 0.1}}\n')

    run = open_run(path)

    assert logged_values(run, "reward_mean") == {1: 2.0}
    assert logged_values(run, "entropy_mean") == {1: 0.5}
    assert logged_values(run, "kl_mean") == {1: 0.1}


@pytest.mark.parametrize("step", [1e300, -1, "soon", None, True, [], 2**70, float("nan")])
def test_a_step_that_is_no_step_loses_no_row(tmp_path: Path, step: object) -> None:
    run = run_of(tmp_path, {"step": step, "reward": 0.5})

    assert list(logged_values(run, "reward_mean").values()) == [0.5]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damaged_logs_never_raise_anything_but_the_one_line(tmp_path_factory: object, data: st.DataObject) -> None:
    rows = b"".join(json.dumps({"step": i, "reward": i / 7, "kl": None, "t": "x"}).encode() + b"\n" for i in range(8))
    damaged = bytearray(gzip.compress(rows) if data.draw(st.booleans()) else rows)
    for _ in range(data.draw(st.integers(0, 5))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("log") / "log"  # type: ignore[attr-defined]  # pytest's factory
    path.write_bytes(damaged[: data.draw(st.integers(0, len(damaged)))])

    assert _opened(path) <= 8


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_open_or_are_refused_in_one_line(tmp_path_factory: object, noise: bytes) -> None:
    path = tmp_path_factory.mktemp("log") / "log"  # type: ignore[attr-defined]  # pytest's factory
    path.write_bytes(noise)

    assert _opened(path) >= 0


def _opened(path: Path) -> int:
    """The rows of a file, 0 where it is refused; a refusal of more than one line is passed on."""
    try:
        return open_run(path).rows
    except UnreadableSource as error:
        if len(str(error).splitlines()) > 1:
            raise
        return 0


@pytest.mark.parametrize("rows", [60, 3_000])
@pytest.mark.parametrize("damage", ["torn", "checksum", "no end"])
def test_damaged_compression_costs_only_what_is_damaged(tmp_path, rows, damage):
    written = ({"step": step, "reward": (step * 7 % 11) / 10, "loss": 0.5} for step in range(1, rows + 1))
    whole = gzip.compress("".join(json.dumps(row) + "\n" for row in written).encode())
    pieces = {"torn": whole[: len(whole) // 2], "checksum": whole[:-8] + bytes(8), "no end": whole[:-8]}
    (tmp_path / "log.jsonl.gz").write_bytes(pieces[damage])

    run = open_run(tmp_path / "log.jsonl.gz")

    assert 0 < run.rows < rows if damage == "torn" else run.rows == rows
    assert run.steps.tolist() == list(range(1, run.rows + 1))
    assert run.reading.unreadable >= 1


def test_a_gzip_file_of_nothing_is_not_called_empty(tmp_path):
    (tmp_path / "log.jsonl.gz").write_bytes(b"\x1f\x8b" + bytes(range(40)))

    with pytest.raises(UnreadableSource, match="a gzip file of which nothing can be unpacked"):
        open_run(tmp_path / "log.jsonl.gz")
