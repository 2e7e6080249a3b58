"""The pictures of docs/report.md: `python -m bench.report.pictures`. Trains the runs anew and looks at their pages."""

import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize

from bench.report.browser import chromium
from bench.report.runs import RUNS
from rlprobe.doctor.engine import diagnose
from rlprobe.reports.html.gather import gather
from rlprobe.reports.html.library import library
from rlprobe.reports.html.page import render

TARGET = Path(__file__).resolve().parents[2] / "docs" / "report"
COLOURS = 128  # of a picture's palette; more cannot be told apart on it
SIDE_BY_SIDE = 3  # phone screens on one picture
PHONE: ViewportSize = {"width": 360, "height": 760}
Scheme = Literal["light", "dark"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One picture: which run, in which light, and what is done before it is taken."""

    name: str
    run: str
    scheme: Scheme
    size: tuple[int, int]
    prepare: Callable[[Page], None]


def main() -> None:
    """Write every picture and tell its size."""
    TARGET.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        pages = {name: _page(name, Path(folder)) for name in {one.run for one in PICTURES} | {"failing"}}
        for one in PICTURES:
            _save(one.name, _taken(browser, pages[one.run], one))
        _save("phone", _phone(browser, pages["failing"]))


def _page(name: str, root: Path) -> Path:
    (root / name).mkdir()
    run = RUNS[name](root / name)
    target = root / f"{name}.html"
    shown = render(gather(run, diagnose(run)), library()).replace(f"{root / name}", "runs")
    target.write_text(shown, encoding="utf-8")
    return target


def _opened(browser: Browser, path: Path, scheme: Scheme, size: ViewportSize) -> Page:
    # waiting evaluates in the page, which the page's own policy forbids
    context = browser.new_context(viewport=size, color_scheme=scheme, offline=True, bypass_csp=True)
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    return page


def _taken(browser: Browser, path: Path, one: Picture) -> bytes:
    page = _opened(browser, path, one.scheme, {"width": one.size[0], "height": one.size[1]})
    one.prepare(page)
    page.wait_for_function("() => [...charts.values()].every((entry) => !entry.seen || (entry.chart && !entry.stale))")
    return page.screenshot()


def _phone(browser: Browser, path: Path) -> bytes:
    """Screens of a phone beside each other: verdict, course, charts."""
    page = _opened(browser, path, "light", PHONE)
    wide = Image.new("RGB", (SIDE_BY_SIDE * (PHONE["width"] + 16) - 16, PHONE["height"]), "#8a929c")
    for place, selector in enumerate(("#verdict", ".course", ".stage")):
        page.locator(selector).first.evaluate("(one) => one.scrollIntoView()")
        page.wait_for_function("() => [...charts.values()].every((entry) => !entry.seen || entry.chart)")
        wide.paste(Image.open(io.BytesIO(page.screenshot())), (place * (PHONE["width"] + 16), 0))
    out = io.BytesIO()
    wide.save(out, "PNG")
    return out.getvalue()


def _save(name: str, png: bytes) -> None:
    target = TARGET / f"{name}.png"
    picture = Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS, method=Image.Quantize.MEDIANCUT)
    picture.save(target, optimize=True)
    print(f"{target}: {target.stat().st_size / 1000:.0f} kB")


def _first_screen(page: Page) -> None:
    page.wait_for_selector("#verdict")


def _charts(page: Page) -> None:
    page.locator(".stage").first.evaluate("(stage) => stage.scrollIntoView()")
    page.evaluate("scrollBy(0, -60)")
    page.wait_for_selector(".u-over")
    page.locator("figure.panel .u-over").first.hover(position={"x": 150, "y": 60})


def _samples(page: Page) -> None:
    page.locator("#samples").evaluate("(section) => section.scrollIntoView()")


PICTURES = (
    Picture(name="first-screen", run="failing", scheme="light", size=(1440, 960), prepare=_first_screen),
    Picture(name="charts", run="failing", scheme="dark", size=(1440, 900), prepare=_charts),
    Picture(name="huge", run="huge", scheme="light", size=(1440, 760), prepare=_charts),
    Picture(name="hostile", run="hostile", scheme="light", size=(1440, 860), prepare=_samples),
)

if __name__ == "__main__":
    main()
