"""The report in a real browser: offline, under its own policy, with one cursor and one zoom for all charts."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bench.report.runs import HOSTILE, RUNS

from rlprobe.reports.html.library import library
from rlprobe.reports.html.page import render
from tests.reports.diagnoses import FAILING
from tests.reports.html_pages import page_of, told

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("browser"),  # one browser for all
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed"),
]
Opened = Callable[..., "Page"]
ALL_MADE = """() => {
  document.querySelectorAll('details').forEach((drawer) => { drawer.open = true; });
  for (const entry of charts.values()) if (!entry.chart) make(entry);
  return [...charts.values()].filter((entry) => !entry.chart).length;
}"""
IN_SIGHT = "[...charts.values()].filter((entry) => entry.seen && entry.chart)"


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The page of the fixed failing diagnosis, or of a run of bench/report/runs.py, rendered once."""
    folder = tmp_path_factory.mktemp("pages")

    def page(name: str) -> Path:
        target = folder / f"{name}.html"
        if not target.exists():
            (folder / name).mkdir()
            made = (
                render(told("failing"), library())
                if name == "failing"
                else page_of(RUNS[name](folder / name), library())
            )
            target.write_text(made, encoding="utf-8")
        return target

    return page


@pytest.fixture
def opened(browser: "Browser", pages: Callable[[str], Path]) -> Iterator[Opened]:
    """Opens a run's page with the network blocked; fails a test whose page complained or asked for anything."""
    contexts, asked, complained = [], [], []

    def page(name: str, *, quiet: bool = True, **options: object) -> "Page":
        context = browser.new_context(**{"offline": True, "viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        shown = context.new_page()
        if quiet:
            shown.on("request", lambda request: asked.append(request.url))
            shown.on("console", lambda message: complained.append(message.text))
            shown.on("pageerror", lambda error: complained.append(str(error)))
        shown.goto(pages(name).as_uri())
        if options.get("java_script_enabled", True):
            shown.wait_for_selector("html[data-ready]")
        return shown

    yield page
    for context in contexts:
        context.close()
    assert all(url.startswith("file:") and url.endswith(".html") for url in asked)
    assert complained == []


@pytest.mark.parametrize("name", ["failing", "tiny", "huge", "hostile"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_chart_of_every_kind_of_run_is_drawn_without_a_complaint(opened, name, scheme):
    page = opened(name, color_scheme=scheme)

    assert page.evaluate(ALL_MADE) == 0
    assert page.evaluate("getComputedStyle(document.body).colorScheme") == scheme
    assert page.locator(".plot.made .still:visible").count() == 0


def test_the_policy_stops_requests_and_scripts_that_got_into_the_page(opened):
    page = opened("tiny", quiet=False)  # the browser tells of everything that it blocks
    blocked = page.evaluate(
        """() => new Promise((resolve) => {
          const seen = [];
          document.addEventListener('securitypolicyviolation', (event) => { seen.push(event.effectiveDirective); });
          const script = document.createElement('script');
          script.textContent = 'document.title = "owned"';
          document.body.append(script);
          document.body.insertAdjacentHTML('beforeend', '<img src="https://example.org/x.png" onerror="o()">');
          fetch('https://example.org/').catch(() => setTimeout(() => resolve(seen), 0));
        })"""
    )

    assert {"script-src-elem", "img-src", "connect-src"} <= set(blocked)
    assert page.title() == "unknown: " + page.locator(".source").inner_text()


def test_hostile_texts_are_shown_as_texts_and_run_nowhere(opened):
    page = opened("hostile")

    assert page.title().startswith("failing: ")
    assert page.locator("main script, main img, main iframe").count() == 0
    shown = page.locator("pre").all_inner_texts()
    assert HOSTILE[0] in shown
    assert any("ESC[31mred" in text and "U+202E" in text for text in shown)
    assert max(map(len, shown)) <= 6_000
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_one_drag_zooms_every_chart_and_a_double_click_shows_the_whole_run(opened):
    page = opened("failing")
    plot = _first_plot(page)
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 60, steps=4)
    page.mouse.up()

    low, high = page.evaluate("view.range")
    assert 110 <= low <= 145
    assert 240 <= high <= 272
    assert len(_ranges(page)) == 1
    page.mouse.dblclick(box["x"] + 30, box["y"] + 30)
    assert page.evaluate("view.range") is None
    assert _ranges(page) == {(0, 511)}


def _first_plot(page: "Page") -> "Locator":
    """The plotting area of the first chart, in sight with its neighbours."""
    page.locator(".stage").first.evaluate("(stage) => stage.scrollIntoView({ block: 'center' })")
    for _ in range(200):  # wait_for_function evaluates in the page, which its content security policy forbids
        if page.evaluate(f"{IN_SIGHT}.length > 2"):
            return page.locator("figure.panel .u-over").first
        page.wait_for_timeout(50)
    raise AssertionError("no charts came into sight")


def _ranges(page: "Page") -> set[tuple[float, float]]:
    """The ranges of steps that the charts in sight show."""
    found = page.evaluate(f"{IN_SIGHT}.map((entry) => [entry.chart.scales.x.min, entry.chart.scales.x.max])")
    assert len(found) > 2
    return {(round(low, 3), round(high, 3)) for low, high in found}


def test_the_cursor_is_one_for_all_charts_and_tells_their_values(opened):
    page = opened("failing")
    figures = page.locator("figure.panel")
    plot = _first_plot(page)
    before = figures.nth(1).locator("output").inner_text()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.05, box["y"] + 40)

    step = page.evaluate("view.step")
    assert 10 <= step <= 40
    assert page.locator("#where").inner_text() == f"step {step}"
    assert figures.nth(1).locator("output").inner_text() != before
    assert page.evaluate(f"{IN_SIGHT}.every((entry) => entry.chart.cursor.left > 0)")


def test_the_keyboard_moves_the_cursor_and_zooms(opened):
    page = opened("failing")
    page.locator("figure.panel .plot").first.focus()
    for key in ("Home", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("view.step") == 2
    page.keyboard.press("+")
    assert page.evaluate("view.range[1] - view.range[0]") < 300
    page.keyboard.press("0")
    assert page.evaluate("view.range") is None


def test_a_finding_can_be_zoomed_to_and_its_link_opens_it(opened):
    page = opened("failing")
    page.locator("[data-zoom='0']").click()
    low, high = page.evaluate("view.range")
    assert 100 < low <= 205
    assert 231 <= high < 350
    follower = page.locator(".gantt a").nth(1)
    follower.click()
    assert page.locator("#finding-B").get_attribute("open") is not None


def test_smoothing_raw_and_log_scale_change_every_chart(opened):
    page = opened("failing")
    _first_plot(page)
    count = f"{IN_SIGHT}[0].chart.series.length"
    assert page.evaluate(count) == 3  # steps, raw, smoothed
    page.locator("#raw").uncheck()
    assert page.evaluate(count) == 2
    page.locator("#smooth").select_option("0")
    assert page.evaluate(count) == 2  # a chart is never empty
    page.locator("#log").check()
    kinds = page.evaluate(f"{IN_SIGHT}.map((entry) => entry.chart.scales.y.distr)")
    assert set(kinds) <= {3, 4}
    page.locator("#find").fill("entropy")
    assert page.locator("figure.panel:visible .metric").all_inner_texts()[0] == "entropy_mean"


def test_a_spike_of_one_row_in_a_hundred_thousand_is_drawn(opened):
    page = opened("huge")
    peak = page.evaluate(
        """() => {
          const panel = Object.values(report.panels).find((one) => one.curves[0].name === 'grad_norm').curves[0];
          return [Math.max(...panel.y), panel.x[panel.y.indexOf(Math.max(...panel.y))], panel.rows];
        }"""
    )

    assert peak == [900, 61_803, 100_000]


def test_light_and_dark_follow_the_system_and_the_button(opened):
    page = opened("tiny", color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    assert page.locator("#theme").inner_text() == "Light"
    page.locator("#theme").click()
    assert page.evaluate(ground) != dark
    page.reload()
    page.wait_for_selector("html[data-ready]")


@pytest.mark.parametrize("name", ["failing", "hostile", "huge"])
def test_a_phone_needs_no_sideways_scrolling(opened, name):
    page = opened(name, viewport={"width": 360, "height": 740})

    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    texts = "[...document.querySelectorAll('p, li, td')]"
    assert min(page.evaluate(f"{texts}.map((one) => parseFloat(getComputedStyle(one).fontSize))")) >= 11


def test_without_a_script_the_texts_and_still_charts_are_there(opened):
    page = opened("failing", java_script_enabled=False)

    assert page.locator("h1").inner_text().endswith(FAILING.sentence)
    assert page.locator(".remedies li").first.is_visible()
    assert page.locator("figure.panel .still").first.is_visible()
    assert page.locator("pre").first.is_visible()
    assert not page.locator(".toolbar").is_visible()
    assert not page.locator("#theme").is_visible()


def test_print_is_light_and_has_the_still_charts(opened):
    page = opened("failing", color_scheme="dark")
    page.emulate_media(media="print")

    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("figure.panel .still").first.is_visible()
    assert not page.locator(".toolbar").is_visible()
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) > 3


def test_a_missing_chart_library_is_one_line_that_says_how_to_install_it(monkeypatch, tmp_path, capsys):
    from rlprobe.cli import main
    from rlprobe.reports.html import library as module

    monkeypatch.setattr(module, "PACKAGE", "no-such-package-of-charts")
    assert main(["report", "anything", "-o", str(tmp_path / "run.html")]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "pip install 'rlprobe[report]'" in told
