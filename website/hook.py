"""mkdocs' hook: generated pages, links between them, and charts in the place of their text."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # mkdocs loads this file by its path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from rlprobe.doctor.charts import chart
from rlprobe.reports import catalog_page
from rlprobe.reports import chart as drawing
from website import links, pages

_CHART = re.compile(rf"^```{catalog_page.CHART}\n.*?^```$", re.DOTALL | re.MULTILINE)
_IDS = frozenset(catalog_page.ids())
_SOURCES = {**pages.sources(), "README.md": "index.md", "docs/README.md": "contents.md"}
_ORIGIN = {page: source for source, page in _SOURCES.items()}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put pages of docs/ that the menu does not name at the end of its part `Use`."""
    named = set(re.findall(r"[\w/-]+\.md", str(config.nav)))
    (use,) = [part["Use"] for part in config.nav or [] if isinstance(part, dict) and "Use" in part]
    use += sorted({path.name for path in (ROOT / "docs").glob("*.md")} - named - {"README.md"})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is no file in docs/; the index of docs/ becomes the page of contents."""
    contents = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for path, text in {**pages.generated(), "contents.md": contents}.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Link ids, threads and files of the repository; draw charts."""
    path = page.file.src_uri
    source = _ORIGIN.get(path, f"docs/{path}")
    if not path.startswith("catalog/"):
        markdown = links.moved(markdown, source=source, page=path, pages=_SOURCES)
    markdown = links.named(markdown, page=path, ids=_IDS)
    return _CHART.sub(lambda _: _figure(Path(path).stem), markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """Take out the theme's address of a host that old browsers would fetch a polyfill from."""
    for script in (Path(config.site_dir) / "assets" / "javascripts").glob("bundle*.js"):
        script.write_text(script.read_text(encoding="utf-8").replace("https://unpkg.com/", ""), encoding="utf-8")


def _figure(id: str) -> str:
    drawn = chart(id)
    assert drawn is not None
    legend = '<span class="rl-key-fault">fault</span> <span class="rl-key-calm">healthy</span>'
    return (
        f'<figure class="rl-figure" markdown="0">\n{drawing.svg(drawn, id)}\n'
        f"<figcaption>{legend} {drawing.caption(drawn)}</figcaption>\n</figure>"
    )
