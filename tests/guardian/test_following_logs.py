"""Logs and recordings that really grow, are rotated, cut short, resumed, and the guardian's own restart."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rlprobe import Recorder
from rlprobe.guardian.memory import BESIDE, Store
from rlprobe.guardian.settings import DEFAULT
from rlprobe.guardian.watching import Plan
from tests.guardian.stories import Post, append, lines, rows, watched
from tests.support import binary_writers, writers

CALM, BROKEN = rows(30), rows(12, first=31, broken_from=33)


def test_a_log_that_is_not_there_yet_is_waited_for_and_then_followed(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    told = watched(
        path,
        lambda: None,
        lambda: path.write_text(""),
        lambda: append(path, CALM),
        lambda: append(path, BROKEN),
    )

    assert told.kinds()[:3] == ["waiting", "waiting", "opened"]
    assert "got nothing" in told.news[0].text
    assert "an empty file" in told.news[1].text
    assert told.named("new")[0].startswith("NUMERIC_NAN")


def test_what_is_told_once_is_not_told_with_every_row(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    append(path, CALM)
    told = watched(path, *(lambda row=row: append(path, [row]) for row in BROKEN))  # type: ignore[misc]  # bound early

    names = told.named("new")
    assert any(name.startswith("NUMERIC_NAN") for name in names)
    assert len(names) == len(set(names))


def _console(folder: Path, table: list[dict[str, object]]) -> Path:
    path = folder / "train.log"
    path.write_text(
        "".join(f"{ {k: v for k, v in row.items() if k != 'step'} | {'epoch': row['step']}!r}\n" for row in table)
    )
    return path


def _jsonl(folder: Path, table: list[dict[str, object]]) -> Path:
    path = folder / "train.jsonl"
    path.write_text(lines(table))
    return path


def _trainer_state(folder: Path, table: list[dict[str, object]]) -> Path:
    return writers.trainer_state(folder / "out", table)


def _tensorboard(folder: Path, table: list[dict[str, object]]) -> Path:
    shutil.rmtree(folder / "tb", ignore_errors=True)
    return binary_writers.tensorboard(folder / "tb", table)


def _wandb(folder: Path, table: list[dict[str, object]]) -> Path:
    path = folder / "run-20260101_000000-abc"
    path.mkdir(exist_ok=True)
    (path / "run-abc.wandb").write_bytes(binary_writers.leveldb_log(map(binary_writers.history, table)))
    return path


@pytest.mark.parametrize("grow", [_console, _jsonl, _trainer_state, _tensorboard, _wandb])
def test_a_growing_log_of_each_kind_is_followed_to_its_failure(
    tmp_path: Path, grow: Callable[[Path, list[dict[str, object]]], Path]
) -> None:
    path = grow(tmp_path, CALM)
    told = watched(path, lambda: grow(tmp_path, CALM + BROKEN[:6]), lambda: grow(tmp_path, CALM + BROKEN))

    assert told.kinds()[0] == "opened"
    assert any(name.startswith("NUMERIC_NAN") for name in told.named("new"))
    assert told.guards[0].run.rows >= len(CALM + BROKEN) - 1


def test_a_rotated_log_goes_on_in_its_new_file(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    append(path, CALM)

    def rotate() -> None:
        os.replace(path, tmp_path / "train.jsonl.1")
        append(path, BROKEN)

    told = watched(path, rotate, lambda: None)

    assert told.guards[0].run.steps.tolist() == list(range(1, 43))
    assert "went_back" not in told.kinds()
    assert any(name.startswith("NUMERIC_NAN") for name in told.named("new"))


def test_a_log_that_is_cut_short_and_written_anew_is_told_and_followed(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    append(path, [*CALM, *BROKEN])
    told = watched(path, lambda: path.write_text(lines(rows(20))), lambda: append(path, rows(20, first=21)))

    assert told.kinds().count("went_back") == 1
    assert any(name.startswith("NUMERIC_NAN") for name in told.named("withdrawn"))
    assert told.guards[0].diagnosis.worst() is None


def test_a_log_that_vanishes_for_a_while_does_not_end_the_watch(tmp_path: Path) -> None:
    path, aside = tmp_path / "train.jsonl", tmp_path / "aside"
    append(path, CALM)
    told = watched(
        path, lambda: path.rename(aside), lambda: aside.rename(path), lambda: append(path, BROKEN), lambda: None
    )

    assert any(name.startswith("NUMERIC_NAN") for name in told.named("new"))


def test_a_recording_is_watched_to_its_end(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "run", algorithm="grpo")

    def log(table: list[dict[str, object]]) -> None:
        for row in table:
            recorder.log_step(int(str(row["step"])), {"loss": row["loss"], "grad_norm": row["grad_norm"]})
        recorder.flush()

    log(CALM)
    told = watched(tmp_path / "run", lambda: log(BROKEN), recorder.close)

    assert told.kinds()[0] == "opened"
    assert told.kinds()[-1] == "ended"
    assert told.ended is not None
    assert [one.verdict for one in told.ended] == ["failing"]


def test_a_resumed_recording_withdraws_what_the_rewind_took_back(tmp_path: Path) -> None:
    def segment(table: list[dict[str, object]]) -> Recorder:
        recorder = Recorder(tmp_path / "run", algorithm="grpo")
        for row in table:
            recorder.log_step(int(str(row["step"])), {"loss": row["loss"], "grad_norm": row["grad_norm"]})
        recorder.flush()
        return recorder

    open_now = [segment([*CALM, *BROKEN])]

    def resume() -> None:
        open_now[0].close()
        open_now[0] = segment(rows(20, first=21))

    told = watched(tmp_path / "run", resume, open_now[0].flush, lambda: open_now[0].close())

    assert any(name.startswith("NUMERIC_NAN") for name in told.named("new"))
    assert any(name.startswith("NUMERIC_NAN") for name in told.named("withdrawn"))
    assert told.kinds()[-1] == "ended"


def test_a_restarted_watch_sends_nothing_twice_and_says_what_still_holds(tmp_path: Path) -> None:
    path, post = tmp_path / "train.jsonl", Post()
    append(path, [*CALM, *BROKEN])
    first = watched(path, lambda: None, post=post)
    sent = list(post.titles())
    second = watched(path, lambda: None, post=post)
    append(path, rows(5, first=43, broken_from=43))
    third = watched(path, lambda: None, post=post)

    assert first.named("new")
    assert len(sent) == 1
    assert post.titles() == sent
    assert set(second.named("known")) == set(first.named("new"))
    assert second.named("new") == third.named("new") == []
    assert (tmp_path / f".train.jsonl{BESIDE}").exists()


def test_a_new_run_under_an_old_name_is_told_afresh(tmp_path: Path) -> None:
    path, post = tmp_path / "train.jsonl", Post()
    append(path, [*CALM, *BROKEN])
    watched(path, post=post)
    other = [{**row, "reward": 0.1 + 0.002 * float(str(row["step"]))} for row in [*CALM, *BROKEN]]
    path.write_text(lines(other))
    again = watched(path, post=post)

    assert len(post.sent) == 2
    assert again.named("known") == []


def test_what_nobody_was_sent_is_sent_once_somebody_listens(tmp_path: Path) -> None:
    path, post = tmp_path / "train.jsonl", Post()
    append(path, [*CALM, *BROKEN])
    watched(path)
    assert not (tmp_path / f".train.jsonl{BESIDE}").exists() or post.sent == []
    watched(path, post=post)

    assert len(post.sent) == 1


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        '{"schema": 3}',
        '{"schema": "other", "runs": {}}',
        '{"schema": "rlprobe.watch-state/1", "runs": {"x": {"told": 3}}}',
        "\x00" * 100,
    ],
)
def test_a_damaged_memory_counts_as_none(tmp_path: Path, content: str) -> None:
    path, post = tmp_path / "train.jsonl", Post()
    append(path, [*CALM, *BROKEN])
    (tmp_path / f".train.jsonl{BESIDE}").write_text(content)
    watched(path, post=post)

    assert len(post.sent) == 1


def test_one_file_keeps_the_memory_of_many_runs(tmp_path: Path) -> None:
    root, post, state = tmp_path / "runs", Post(), tmp_path / "state.json"
    for name in ("a", "b"):
        (root / name).mkdir(parents=True)
        append(root / name / "log.jsonl", CALM)

    def fail() -> None:
        for name in ("a", "b"):
            append(root / name / "log.jsonl", BROKEN)

    told = watched(root, fail, lambda: None, post=post, store=Store(state))
    again = watched(root, lambda: None, post=post, store=Store(state))

    assert len(post.sent) == 2
    assert {one.run for one in told.news if one.kind == "new"} == {str(root / n / "log.jsonl") for n in ("a", "b")}
    assert again.named("new") == []
    assert len(json.loads(state.read_text())["runs"]) == 2
    assert not list(root.rglob(f"*{BESIDE}"))


def test_a_memory_that_cannot_be_written_is_told_once_and_the_watch_goes_on(tmp_path: Path) -> None:
    path, post = tmp_path / "train.jsonl", Post()
    append(path, [*CALM, *BROKEN])
    told = watched(path, lambda: append(path, rows(3, first=43)), post=post, store=Store(tmp_path / "no" / "state"))

    assert told.kinds().count("trouble") == 1
    assert len(post.sent) == 1


def test_a_look_for_cron_tells_what_is_new_since_the_last_and_ends(tmp_path: Path) -> None:
    path, once = tmp_path / "train.jsonl", Plan(once=True)
    append(path, CALM)
    assert watched(path, plan=once).kinds() == []
    append(path, BROKEN)
    assert any(name.startswith("NUMERIC_NAN") for name in watched(path, plan=once).named("new"))
    assert watched(path, plan=once).kinds() == []


def test_runs_that_were_over_before_the_watch_began_are_shown_and_not_told(tmp_path: Path) -> None:
    old, post = tmp_path / "runs" / "old", Post()
    with Recorder(old) as recorder:
        for row in [*CALM, *BROKEN]:
            recorder.log_step(int(str(row["step"])), {"loss": row["loss"]})
    told = watched(tmp_path / "runs", lambda: append(tmp_path / "runs" / "new.jsonl", CALM), post=post)

    assert post.sent == []
    assert told.named("new") == []
    assert str(old) in [guard.run.source for guard in told.guards]


def test_rows_that_stay_away_are_told_once_and_so_is_their_return(tmp_path: Path) -> None:
    path, post = tmp_path / "train.jsonl", Post()
    append(path, CALM)
    patience = DEFAULT.silence_seconds
    plan = Plan(interval=1.0)
    scenes = [lambda step=step: append(path, rows(1, first=step)) for step in range(31, 40)]
    waiting: list[Callable[[], object]] = [lambda: None] * int(patience + 5)
    back = [lambda: append(path, rows(1, first=40)), lambda: None]
    told = watched(path, *scenes, *waiting, *back, plan=plan, post=post)

    assert told.kinds().count("silent") == 1
    assert told.kinds().count("alive") == 1
    assert [title.split(":")[0] for title in post.titles()] == ["DIED", "ALIVE"]
