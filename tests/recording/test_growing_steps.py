"""steps.parquet grows by row groups that are copied as bytes; what comes out is what one writing would have made."""

from pathlib import Path

import numpy as np
import polars
import pyarrow.parquet as pq
import pytest

from rlprobe.recording import parquet
from rlprobe.recording.columns import Rows
from rlprobe.recording.merging import Merged
from rlprobe.recording.parquet import StepsFile, write_steps

GROUP = 64  # rows of a full row group in these tests


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    monkeypatch.setattr(parquet, "_GROUP_ROWS", GROUP)


def part(first: int, rows: int, *, segment: int = 0, names: tuple[str, ...] = ("a", "b"), value: float = 0.0) -> Merged:
    """Rows of steps [first, first + rows), every third value of b not logged."""
    steps = np.arange(first, first + rows)
    columns = {name: (steps + value, np.full(rows, True) if name != "b" else steps % 3 > 0) for name in names}
    whole = Rows(steps=steps, segments=np.full(rows, segment), sequences=steps + 1, columns=columns)
    return Merged(rows=whole, derived={name: np.zeros(rows, bool) for name in names})


def grow(path: Path, *parts: Merged, tidy: bool = True) -> pq.FileMetaData:
    """Write the parts one after the other, each as a snapshot would."""
    for one in parts:
        covers = (int(one.rows.segments[-1]), int(one.rows.sequences[-1]))
        write_steps(path, StepsFile.open(path), [one], covers, tidy=tidy)
    return pq.ParquetFile(path).metadata


@pytest.mark.parametrize("sizes", [[200, 1], [64, 64, 64], [300, 7, 7, 7, 130], [65, 1, 1, 1], [10, 20, 400, 3]])
@pytest.mark.parametrize("tidy", [True, False])
def test_a_file_that_grew_holds_what_a_file_written_at_once_holds(tmp_path, sizes, tidy):
    starts = np.cumsum([0, *sizes])
    grown = grow(
        tmp_path / "grown", *(part(int(start), size) for start, size in zip(starts, sizes, strict=False)), tidy=tidy
    )
    grow(tmp_path / "at once", part(0, sum(sizes)))

    assert polars.read_parquet(tmp_path / "grown").equals(polars.read_parquet(tmp_path / "at once"))
    assert grown.num_rows == sum(sizes)
    assert grown.metadata[b"rlprobe.covers"] == b"0:%d" % sum(sizes)


def test_row_groups_of_a_long_file_are_not_encoded_anew(tmp_path):
    path = tmp_path / "steps.parquet"
    grow(path, part(0, 200))
    before = path.read_bytes()
    after = grow(path, part(200, 5))
    kept = after.row_group(4).column(0).data_page_offset

    assert kept > 200
    assert path.read_bytes()[:kept] == before[:kept]
    assert [after.row_group(index).num_rows for index in range(after.num_row_groups)] == [64, 64, 64, 8, 5]


def test_what_comes_late_for_an_old_row_is_entered(tmp_path):
    path = tmp_path / "steps.parquet"
    grow(path, part(0, 200), part(10, 2, value=0.5, names=("a",)))
    rows = polars.read_parquet(path)

    assert rows["step"].to_list() == list(range(200))
    assert rows["a"].to_list()[9:13] == [9.0, 10.5, 11.5, 12.0]


def test_a_new_segment_that_goes_back_leaves_the_old_rows_as_they_are(tmp_path):
    path = tmp_path / "steps.parquet"
    after = grow(path, part(0, 200), part(10, 90, segment=1))
    rows = polars.read_parquet(path)

    assert after.num_row_groups == 6  # four, and two behind them
    assert rows["segment"].to_list() == [0] * 200 + [1] * 90
    assert rows["step"].to_list() == [*range(200), *range(10, 100)]


def test_a_metric_that_appears_late_is_null_before(tmp_path):
    path = tmp_path / "steps.parquet"
    grow(path, part(0, 200), part(200, 3, names=("a", "late")))
    late = polars.read_parquet(path)["late"]

    assert late.null_count() == 200
    assert late.to_list()[200:] == [200.0, 201.0, 202.0]


def test_many_small_snapshots_leave_few_row_groups_and_closing_encodes_none_of_them(tmp_path):
    path = tmp_path / "steps.parquet"
    before = grow(path, *(part(10 * index, 10) for index in range(30)))
    closed = grow(path, part(300, 1), tidy=False)

    assert before.num_row_groups <= 300 // GROUP + 1 + parquet._SMALL_GROUPS
    assert closed.num_row_groups == before.num_row_groups + 1
