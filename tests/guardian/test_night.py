"""A night that nobody watches: errors of our own, rows that cost what they cost, words that keep to the constants."""

from pathlib import Path

import pytest

from rlprobe.doctor.engine import Doctor
from rlprobe.doctor.finding import Diagnosis
from rlprobe.guardian import channels, guard
from rlprobe.guardian.watching import Plan
from rlprobe.importers.folders.runs import runs_under
from rlprobe.recorder import worker
from tests.guardian.stories import Post, append, rows, watched

PAGE = (Path(__file__).parents[2] / "docs" / "watching.md").read_text(encoding="utf-8")
CALM, BROKEN = rows(30), rows(12, first=31, broken_from=33)


class Faulty:
    """A doctor that fails at some of its calls, counted over all runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *failing: int) -> None:
        self.calls = 0
        update = Doctor.update

        def counted(doctor: Doctor) -> Diagnosis:
            self.calls += 1
            if self.calls in failing:
                raise RuntimeError("no memory left")
            return update(doctor)

        monkeypatch.setattr(Doctor, "update", counted)


def test_an_error_of_our_own_is_told_and_the_run_opened_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, post = tmp_path / "train.jsonl", Post()
    append(path, [*CALM, *BROKEN])
    Faulty(monkeypatch, 2)
    told = watched(
        path, lambda: append(path, rows(1, first=43)), lambda: append(path, rows(1, first=44)), lambda: None, post=post
    )

    assert [one.text for one in told.news if one.kind == "trouble"] == [
        f"{path}: internal error (RuntimeError: no memory left); it is opened anew."
    ]
    assert told.guards[0].run.rows == 44
    assert len(post.sent) == 1
    assert told.named("new") == list(dict.fromkeys(told.named("new")))


def test_errors_without_end_end_the_watch_of_a_single_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "train.jsonl"
    append(path, CALM)
    Faulty(monkeypatch, *range(2, 100))

    with pytest.raises(RuntimeError, match="no memory left"):
        watched(path, *(lambda step=step: append(path, rows(1, first=step)) for step in range(31, 40)))  # type: ignore[misc]  # bound early


def test_a_run_that_cannot_be_judged_leaves_the_others_of_its_folder_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        append(tmp_path / f"{name}.jsonl", [*CALM, *BROKEN])
    update = Doctor.update

    def fails_on_a(doctor: Doctor) -> Diagnosis:
        if doctor.run.source.endswith("a.jsonl"):
            raise RuntimeError("no memory left")
        return update(doctor)

    monkeypatch.setattr(Doctor, "update", fails_on_a)
    told = watched(tmp_path, lambda: None, lambda: None)

    assert any(one.kind == "trouble" and "a.jsonl" in one.text for one in told.news)
    assert {one.run for one in told.news if one.kind == "new"} == {str(tmp_path / "b.jsonl")}


def test_a_round_without_new_rows_judges_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        append(tmp_path / f"{number}.jsonl", CALM)
    doctor = Faulty(monkeypatch)
    counts: list[int] = []

    def quiet() -> None:
        counts.append(doctor.calls)

    def one_row() -> None:
        append(tmp_path / "3.jsonl", rows(1, first=31))

    watched(tmp_path, *[quiet] * 10, one_row, quiet, quiet)

    assert counts[8] == counts[9] == 5  # opening them may take more than one round
    assert counts[-1] == 6


def test_a_round_reads_the_new_rows_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "train.jsonl"
    append(path, rows(500))
    read: list[int] = []
    original = guard.Guard._read

    def counted(self: guard.Guard) -> bool:
        before = self.run.rows
        changed = original(self)
        read.append(self.run.rows - before)
        return changed

    monkeypatch.setattr(guard.Guard, "_read", counted)
    watched(path, lambda: append(path, rows(1, first=501)), lambda: append(path, rows(2, first=502)), plan=Plan())

    assert read == [0, 1, 2]


def test_a_single_look_at_a_folder_opens_every_run_however_long_that_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(1_000_000))
    monkeypatch.setattr("rlprobe.guardian.sources.time.monotonic", lambda: next(clock) / 4)
    for number in range(5):
        append(tmp_path / f"{number}.jsonl", CALM)
    told = watched(tmp_path, *[lambda: None] * 20, plan=Plan(once=True))

    assert told.rounds > 1
    assert len(told.guards) == 5


def test_the_memory_beside_a_log_is_taken_for_no_run(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    append(path, [*CALM, *BROKEN])
    watched(path, post=Post())

    assert len(list(tmp_path.iterdir())) == 2
    assert list(runs_under(str(tmp_path))) == [path]
    assert [one.run.source for one in watched(tmp_path).guards] == [str(path)]


@pytest.mark.parametrize(
    ("words", "holds"),
    [
        ("after an hour of silence", guard._LEAST_ABANDONED == 3600),
        ("twelve times the silence", guard.ABANDONED == 12),
        ("is tried three times", len(channels._RETRIES) == 2),
        ("looks at it twice a\nsecond", worker._KEEP_EVERY == 0.5),
    ],
)
def test_the_page_keeps_to_the_constants(words: str, holds: bool) -> None:
    assert words in PAGE
    assert holds
