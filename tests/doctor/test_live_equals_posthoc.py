"""Law 1: rows 0..n give the same diagnosis whether they came one by one, in chunks or at once."""

from itertools import pairwise

import numpy as np
import pytest

from rlprobe.doctor.condense import BLOCK, FULL
from rlprobe.doctor.engine import Doctor, diagnose
from rlprobe.doctor.finding import Diagnosis
from rlprobe.recording.run import Batch, MemoryFeed, Run
from tests.support.corpus import Label, labels, opened
from tests.support.runs import columns_run
from tests.support.spread import spread
from tests.support.strategies import noise

ROW_BY_ROW = 12  # runs of the corpus that come in single rows from end to end
# A row that comes alone costs a diagnosis, so each run takes some rows one by one, others in chunks; where the
# stretch lies differs from run to run, and over the corpus every part of a run is met row by row.
ALONE = 30
CHUNKS = 8


def _pieces(run: Run, cuts: list[int]) -> list[Batch]:
    """The default view of a run as batches that begin at the cuts."""
    edges = [0, *cuts, run.rows]
    whole = {name: (run.column(name), run.logged(name)) for name in run.metrics}
    metadata = {name: run.metadata(name) for name in run.metrics}
    out = []
    for low, high in pairwise(edges):
        columns = {n: (v[low:high], k[low:high]) for n, (v, k) in whole.items() if k[low:high].any()}
        out.append(
            Batch(
                steps=run.steps[low:high],
                columns=columns,
                segments=run.row_segments[low:high],
                manifest=run.manifest if low == 0 else None,
                reading=run.reading if low == 0 else None,
                events=tuple(run.events) if low == 0 else (),
                metadata=metadata if low == 0 else {},
            )
        )
    return out


def _live(run: Run, cuts: list[int]) -> Diagnosis:
    """The diagnosis of a Doctor that was asked after every piece."""
    pieces = _pieces(run, cuts)
    feed = MemoryFeed("live", [])
    live = Run(feed)
    doctor = Doctor(live)
    diagnosis = doctor.update()
    for piece in pieces:
        feed.batches.append(piece)
        diagnosis = doctor.update()
    return diagnosis


def _told(diagnosis: Diagnosis) -> tuple[object, ...]:
    return diagnosis.verdict, diagnosis.findings, diagnosis.incidents, diagnosis.checked, diagnosis.reassurances


def _cuts(rows: int, seed: int) -> list[int]:
    """Ends of batches of a run: a stretch of single rows (from the first one on, or later), the rest in chunks."""
    rng = np.random.default_rng(seed)
    begin = int(rng.integers(1, max(2, rows - ALONE))) if rng.random() < 0.75 else 1
    chunks = rng.integers(1, max(2, rows), size=CHUNKS).tolist()
    return sorted({*chunks, *range(begin, min(begin + ALONE, rows))} - {rows})


def _check(label: Label, seed: int) -> None:
    run = opened(label)
    at_once = diagnose(Run(MemoryFeed("whole", _pieces(run, []))))
    assert _told(_live(run, _cuts(run.rows, seed))) == _told(at_once)


def _spread_over_sources() -> list[Label]:
    """Runs of as many repositories as possible, the shortest first."""
    chosen: dict[str, Label] = {}
    for label in sorted(labels(), key=lambda one: one.path.stat().st_size):
        chosen.setdefault(label.repository, label)
    return list(chosen.values())


@pytest.mark.parametrize("label", spread(_spread_over_sources()[:ROW_BY_ROW], few=3), ids=lambda label: label.id)
def test_a_real_run_reads_the_same_row_by_row_and_at_once(label: Label) -> None:
    run = opened(label)
    at_once = diagnose(Run(MemoryFeed("whole", _pieces(run, []))))
    assert _told(_live(run, list(range(1, run.rows)))) == _told(at_once)


@pytest.mark.slow
def test_a_long_run_reads_the_same_where_rows_become_blocks() -> None:
    rows, fault = FULL + 40 * BLOCK, FULL + 5 * BLOCK + 3
    late = np.arange(rows) >= fault
    columns = {
        "reward_mean": 0.5 + 0.05 * noise(1, rows) - 0.45 * late,
        "kl_mean": (0.05 + 8.0 * late) * np.exp(0.2 * noise(2, rows)),
        "grad_norm": np.where(late & (np.arange(rows) % 50 == 0), np.nan, np.exp(0.2 * noise(3, rows))),
    }
    run = columns_run(columns)
    at_once = diagnose(run)
    assert {one.id for one in at_once.findings} >= {"KL_BLOWUP", "REWARD_COLLAPSE"}
    cuts = [40, FULL - 1, FULL, FULL + 1, *range(fault - 4, fault + 3 * BLOCK, 7), rows - 1]
    assert _told(_live(run, cuts)) == _told(at_once)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "label"), list(enumerate(labels())), ids=[one.id for one in labels()])
def test_every_real_run_reads_the_same_however_it_is_cut(number: int, label: Label) -> None:
    _check(label, seed=number)
