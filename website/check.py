"""python -m website.check [SITE]: the built site loads nothing from elsewhere, and its links lead somewhere."""

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {
    "script": "src",
    "img": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "use": "href",
}
_KEPT_RELATIONS = {"canonical", "prev", "next", "alternate"}  # of <link>: named, not loaded
_IN_STYLES = re.compile(r"@import\s+[\"']?(?:url\()?[\"']?(?:https?:)?//|url\(\s*[\"']?(?:https?:)?//")
_DELIVERY = re.compile(r"https?://(?:unpkg\.com|cdn\.|cdnjs\.|fonts\.)[\w./-]*")  # hosts that scripts fetch code from


class _Page(HTMLParser):
    """What a page loads, where it links to, and the places in it that can be linked to."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if place := given.get("id") or (given.get("name") if tag == "a" else None):
            self.places.add(place)
        if tag == "a" and (target := given.get("href")):
            self.links.append(target)
        named = tag == "link" and set((given.get("rel") or "").split()) & _KEPT_RELATIONS
        if tag in _LOADED and not named and (target := given.get(_LOADED[tag])):
            self.loads.append(target)


def foreign_loads(site: Path) -> list[str]:
    """Every script, picture, style or font that a page or a style would fetch from another host."""
    found = []
    for path in sorted(site.rglob("*.html")):
        found += [f"{path.relative_to(site)}: {load}" for load in _read(path.resolve()).loads if urlsplit(load).netloc]
    for path in sorted(site.rglob("*.js")):
        if found_host := _DELIVERY.search(path.read_text(encoding="utf-8")):
            found.append(f"{path.relative_to(site)}: {found_host[0]}")
    for path in sorted(site.rglob("*.css")):
        if _IN_STYLES.search(path.read_text(encoding="utf-8")):
            found.append(f"{path.relative_to(site)}: a style fetches from elsewhere")
    return found


def broken_links(site: Path) -> list[str]:
    """Links and loads within the site that lead to no file, or to no place in it."""
    pages = {path.resolve(): _read(path.resolve()) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # served from any depth: its links start at the root of the host
        for target in (*page.links, *page.loads):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            aim = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            missing = parts.fragment and aim in pages and unquote(parts.fragment) not in pages[aim].places
            if not aim.exists() or (missing and not parts.fragment.startswith("__")):
                found.append(f"{path.relative_to(site.resolve())}: {target}")
    return found


@cache
def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def main() -> int:
    """Print what is wrong; 1 where something is."""
    site = Path(sys.argv[1] if len(sys.argv) > 1 else "site")
    wrong = [*foreign_loads(site), *broken_links(site)]
    for line in wrong:
        print(line)
    print(f"{len(list(site.rglob('*.html')))} pages, {len(wrong)} things wrong")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
