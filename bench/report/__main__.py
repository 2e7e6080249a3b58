"""What a report costs: `python -m bench.report`. Bytes, CPU seconds to make, and time to open in headless Chromium.

Opening is measured beside an empty page and, where plotly is installed, beside an empty page with its script: wall time
on a shared machine says little by itself. Told are the time to the first picture of the text, and to drawn charts.
"""

import statistics
import tempfile
import time
from importlib import metadata
from pathlib import Path

from playwright.sync_api import Browser

from bench.report.browser import chromium
from bench.report.runs import RUNS
from rlprobe.doctor.engine import diagnose
from rlprobe.reports.html.gather import gather
from rlprobe.reports.html.library import library
from rlprobe.reports.html.page import render

MEASURED = ("tiny", "huge", "hostile", "failing")  # of bench/report/runs.py
REPEATS = 5
EMPTY = "<!doctype html><title>empty</title><p>empty</p>"
PAINTED = """() => new Promise((resolve) => {
  const tell = (list) => list.getEntriesByName('first-contentful-paint').forEach((one) => resolve(one.startTime));
  new PerformanceObserver(tell).observe({ type: 'paint', buffered: true });
})"""
READY = """() => {
  const seen = [...charts.values()].filter((entry) => entry.seen);
  return document.documentElement.dataset.ready && seen.every((entry) => entry.chart) ? performance.now() : 0;
}"""


def main() -> None:
    """Print the tables."""
    script = library()
    print(f"The chart library has {(len(script.script) + len(script.style)) / 1e3:.0f} kB.\n")
    print("| run | page | gather and render | text | charts in sight |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        root = Path(folder)
        for name, content in _others().items():
            path = root / "other.html"
            path.write_text(content, encoding="utf-8")
            text, done = _opening(browser, path, "() => performance.now()")
            print(f"| {name} | {len(content) / 1e6:.2f} MB | | {text:.0f} ms | {done:.0f} ms |", flush=True)
        for name in MEASURED:
            (root / name).mkdir()
            size, seconds = _make(name, root)
            text, charts = _opening(browser, root / f"{name}.html", READY)
            print(
                f"| {name} | {size / 1e6:.2f} MB | {seconds:.2f} s CPU | {text:.0f} ms | {charts:.0f} ms |", flush=True
            )


def _make(name: str, root: Path) -> tuple[int, float]:
    """Bytes of the page, and CPU seconds of making it once the run is read and diagnosed."""
    run = RUNS[name](root / name)
    diagnosis = diagnose(run)
    script = library()
    started = time.process_time()
    page = render(gather(run, diagnosis), script).encode()
    spent = time.process_time() - started
    (root / f"{name}.html").write_bytes(page)
    return len(page), spent


def _opening(browser: Browser, path: Path, ready: str) -> tuple[float, float]:
    """Median milliseconds from navigation to the first paint and to the page being ready."""
    painted, done = [], []
    for _ in range(REPEATS):
        context = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True, bypass_csp=True)
        page = context.new_page()
        page.goto(path.as_uri())
        painted.append(page.evaluate(PAINTED))
        done.append(page.wait_for_function(ready).json_value())
        context.close()
    return statistics.median(painted), statistics.median(done)


def _others() -> dict[str, str]:
    """Pages to compare with."""
    pages = {"(an empty page)": EMPTY}
    try:
        files = metadata.distribution("plotly")
    except metadata.PackageNotFoundError:
        return pages
    script = Path(str(files.locate_file("plotly/package_data/plotly.min.js"))).read_text(encoding="utf-8")
    return {**pages, "(an empty page with plotly)": f"{EMPTY}<script>{script}</script>"}


if __name__ == "__main__":
    main()
