"""The site builds without a warning, loads nothing from elsewhere, and its links lead somewhere."""

import functools
import http.server
import logging
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from website import check, links

from rlprobe.reports import catalog_page
from tests.docs.blocks import ROOT

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.filterwarnings("default")  # the builder's own


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[str]]]:
    """The built site, and what the builder warned of."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    warned: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: warned.append(record.getMessage())  # type: ignore[method-assign]  # a list as log
    logging.getLogger("mkdocs").addHandler(handler)
    try:
        build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=False))
        yield folder, warned
    finally:
        logging.getLogger("mkdocs").removeHandler(handler)


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_stands_alone(site: tuple[Path, list[str]]) -> None:
    folder, warned = site

    assert warned == []
    assert check.foreign_loads(folder) == []
    assert check.broken_links(folder) == []


@pytest.mark.slow
def test_every_id_has_its_page_in_the_site_and_signatures_their_drawing(site: tuple[Path, list[str]]) -> None:
    folder, _ = site

    for id in catalog_page.ids():
        text = (folder / "catalog" / f"{id}.html").read_text(encoding="utf-8")
        assert ('<svg class="rl-chart"' in text) is ("```chart" in catalog_page.page(id)[1])
        assert "```" not in text
    index = (folder / "catalog" / "index.html").read_text(encoding="utf-8")
    assert all(f'href="{id}.html"' in index for id in catalog_page.ids())


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")
def test_a_phone_shows_a_page_without_scrolling_sideways_or_asking_another_host(site: tuple[Path, list[str]]) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    folder, _ = site
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, playwright.sync_playwright() as started:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 390, "height": 844})
        base = f"http://127.0.0.1:{server.server_address[1]}/"
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        for path in ("index.html", "catalog/ENTROPY_COLLAPSE.html", "comparison.html"):
            page.goto(base + path)
            root = "document.documentElement"
            assert page.evaluate(f"{root}.scrollWidth - {root}.clientWidth") == 0, path
        browser.close()
        server.shutdown()

    assert asked
    assert [url for url in asked if not url.startswith(base)] == []


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing on standard error."""


def test_the_check_of_the_site_sees_what_it_is_there_for(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<link rel="stylesheet" href="https://fonts.example/f.css"><link rel="canonical" href="https://here.example">'
        '<script src="//cdn.example/x.js"></script><a href="b.html#there">b</a><a href="c.html">c</a>'
        '<a href="https://elsewhere.example">may be linked</a>'
        '<h2 id="top">t</h2><a href="#top">up</a><a href="#no">x</a>',
        encoding="utf-8",
    )
    (tmp_path / "b.html").write_text('<p id="here">', encoding="utf-8")
    (tmp_path / "s.css").write_text("@import 'https://fonts.example/f.css';", encoding="utf-8")
    (tmp_path / "s.js").write_text("load('https://unpkg.com/x')", encoding="utf-8")

    assert [line.partition(": ")[0] for line in check.foreign_loads(tmp_path)] == ["a.html", "a.html", "s.js", "s.css"]
    assert [line.partition(": ")[2] for line in check.broken_links(tmp_path)][:3] == ["b.html#there", "c.html", "#no"]


def test_ids_and_threads_become_links_outside_code_headings_and_links() -> None:
    ids = frozenset({"KL_BLOWUP", "V301"})
    text = (
        "# KL_BLOWUP\n\nKL_BLOWUP and `V301`, V301, V999, [V301](x.md), trl#5, a/b#7, odd#3\n\n```\nV301 trl#5\n```\n"
    )

    told = links.named(text, page="guide/index.md", ids=ids)

    assert told == (
        "# KL_BLOWUP\n\n[KL_BLOWUP](../catalog/KL_BLOWUP.md) and `V301`, [V301](../catalog/V301.md), V999, "
        "[V301](x.md), [trl#5](https://github.com/huggingface/trl/issues/5), [a/b#7](https://github.com/a/b/issues/7), "
        "odd#3\n\n"
        "```\nV301 trl#5\n```\n"
    )


def test_links_of_the_repository_become_links_of_the_site() -> None:
    text = "[x](../examples/a.py) [y](lab.md#a) [z](https://z) ![p](report/p.png)\n```\n[x](../examples/a.py)\n```\n"

    told = links.moved(text, source="docs/tutorials/t.md", page="tutorials/t.md", pages={"docs/examples/a.py": "e.md"})

    assert told.startswith("[x](../e.md) [y](lab.md#a) [z](https://z) ![p](report/p.png)")
    assert "[x](../examples/a.py)" in told


def test_threads_on_the_pages_have_an_owner() -> None:
    for id in catalog_page.ids():
        sources = catalog_page.page(id)[1].partition("## Sources")[2]
        told = links.named(sources, page=f"catalog/{id}.md", ids=frozenset())
        assert not links._THREAD.search(links._APART.sub("", told)), id


def test_the_comparison_has_the_table_of_the_bench() -> None:
    page = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    table = page.partition("<!-- peers: as in bench/README.md -->\n")[2].partition("<!-- end -->")[0]

    assert table.count("\n") >= 5
    assert table in (ROOT / "bench" / "README.md").read_text(encoding="utf-8")


def test_the_front_page_and_the_comparison_tell_one_measurement() -> None:
    """Both count the labelled real runs: a number that is measured anew is measured anew on both pages."""
    front = (ROOT / "README.md").read_text(encoding="utf-8")
    comparison = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8").splitlines()
    ours = next(line for line in comparison if "| this version |" in line)
    alarms, named, first, placed = (cell.strip().replace("/", " of ") for cell in ours.split("|")[2:6])

    assert f"| real healthy runs with a false alarm | {alarms}, " in front
    assert f"| real failing runs named | {named}; first in {first.split()[0]} |" in front
    assert f"| late onsets within 10 % of the run | {placed} |" in front
