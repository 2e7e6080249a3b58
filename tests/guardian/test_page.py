"""What a person sees: the live page at any size, lines, lines of JSON; nothing hostile gets through."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from rlprobe.guardian import page
from rlprobe.guardian.guard import Guard
from rlprobe.guardian.news import News, line, record
from rlprobe.guardian.screen import LivePage
from rlprobe.guardian.settings import DEFAULT
from rlprobe.guardian.telling import JsonLines, Lines
from rlprobe.guardian.watching import Plan, replay
from rlprobe.opening import open_run
from rlprobe.recording.run import Run
from tests.guardian.stories import START, lines, rows
from tests.support.runs import columns_run, course


def broken_run(tmp_path: Path) -> Run:
    path = tmp_path / "train.jsonl"
    path.write_text(lines([*rows(30), *rows(12, first=31, broken_from=33)]))
    return open_run(path)


def looked(run: Run) -> Guard:
    guard = Guard(run, DEFAULT, now=START)
    guard.look(START)
    return guard


def drawn(renderable: object, *, width: int = 100) -> str:
    out = io.StringIO()
    Console(file=out, width=width, markup=False, highlight=False, emoji=False, _environ={}).print(renderable)
    return out.getvalue()


def test_the_page_of_a_run_shows_progress_pace_courses_findings_and_news(tmp_path: Path) -> None:
    run = columns_run(
        {"reward_mean": course(0.1, 0.6), "entropy_mean": course(1.0, 0.7), "step_seconds": [2.0] * 80}
        | {"wall_time": START - 160 + 2.0 * course(0, 79), "tokens_per_second": [5000.0] * 80},
        settings={"max_steps": 200},
    )
    shown = drawn(page.single(looked(run), START, height=40, news=("12:00:00 it began",), waits=""))

    assert "step 79 of 200" in shown
    assert "2 s a row · 5,000 tokens/second · 4 min 2 s left" in shown
    assert "reward_mean" in shown
    assert "▁" in shown
    assert "No finding." in shown
    assert "12:00:00 it began" in shown


def test_the_page_of_a_failing_run_names_the_finding_and_its_metric_first(tmp_path: Path) -> None:
    shown = drawn(page.single(looked(broken_run(tmp_path)), START, height=40, news=(), waits=""))

    assert "FAILING" in shown
    assert "NUMERIC_NAN loss" in shown
    assert "step 33" in shown
    assert shown.index("loss  ") < shown.index("reward_mean")


@pytest.mark.parametrize("height", [10, 24])
@pytest.mark.parametrize("width", [40, 120])
def test_a_page_fits_the_terminal(tmp_path: Path, width: int, height: int) -> None:
    guards = [looked(broken_run(tmp_path))] * 70
    news = tuple(f"line {number} of the news" for number in range(30))
    for renderable in (
        page.single(guards[0], START, height=height, news=news, waits=""),
        page.several(guards, START, height=height, news=news, waits="more"),
    ):
        printed = drawn(renderable, width=width).splitlines()
        assert max(map(len, printed)) <= width
        if height >= 24:
            assert len(printed) <= height


def test_many_runs_are_listed_the_worst_first(tmp_path: Path) -> None:
    calm = looked(columns_run({"reward_mean": course(0.1, 0.6), "entropy_mean": course(1.0, 0.7)}))
    shown = drawn(page.several([calm, looked(broken_run(tmp_path))], START, height=30, news=(), waits=""))

    assert "2 runs under watch, 1 failing" in shown
    assert shown.index("failing  ") < shown.index("healthy  ")
    assert "train.jsonl" in shown
    assert "NUMERIC_NAN loss, step 33" in shown


EVIL = "run\x1b]0;owned\x07\x1b[31m[red]\nname"


def test_no_escape_of_a_hostile_name_reaches_the_terminal() -> None:
    news = News(kind="new", text=f"NEW {EVIL}", run=EVIL, step=3)
    told = line(news, several=True, clock="12:00:00")
    run = columns_run({"reward_mean": course(0.1, 0.6), f"custom/{EVIL}": course(0, 1)})

    assert told == "12:00:00 run[red] name: [step 3] NEW run[red] name\n"
    assert "\x1b" not in record(news, START)
    assert json.loads(record(news, START))["run"] == EVIL
    assert "\x1b" not in drawn(page.single(looked(run), START, height=30, news=(told,), waits=""))


def test_a_replay_tells_what_a_live_watch_would_have_told_when_it_would_have(tmp_path: Path) -> None:
    kept: list[str] = []
    slept: list[float] = []
    run = broken_run(tmp_path)
    teller = JsonLines(kept.append)
    guard = replay(run, Plan(), teller, speed=10.0, sleep=slept.append)
    told = [json.loads(one) for one in kept]

    first = next(one for one in told if one["kind"] == "new" and one["name"].startswith("NUMERIC_NAN"))
    assert 33 <= first["step"] <= 36
    assert first["finding"]["id"] == "NUMERIC_NAN"
    assert [one["kind"] for one in told][-2:] == ["ended", "diagnosis"]
    assert told[-1]["diagnosis"]["verdict"] == "failing"
    assert sum(slept) == pytest.approx(41 * 0.1)  # a step takes a second where the log does not say
    assert guard.diagnosis.rows == run.rows
    assert "halt" not in [one["kind"] for one in told]
    assert "would_halt" in [one["kind"] for one in told]


def test_the_live_page_gives_the_terminal_back_and_ends_with_the_final_page(tmp_path: Path) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, height=30, _environ={})
    final: list[str] = []
    with LivePage(console, several=False, final=lambda told: final.append(told.verdict)) as live:
        live.show([], START, waits="runs/night: nothing yet")
        replay(broken_run(tmp_path), Plan(), live)

    text = out.getvalue()
    assert "Waiting: runs/night" in text
    assert "NEW warning NUMERIC_NAN" in text
    assert final == ["failing"]
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1  # the cursor is hidden, and shown again


def test_lines_end_with_the_page_of_a_single_run(tmp_path: Path) -> None:
    kept: list[str] = []
    replay(broken_run(tmp_path), Plan(), Lines(kept.append, several=False, page=lambda told: told.verdict))

    assert kept[-1] == "\nfailing"
    assert any("NEW warning NUMERIC_NAN loss" in one for one in kept)
