"""The fenced blocks of the project's Markdown pages."""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
PAGES += sorted((ROOT / "src" / "rlprobe" / ".agents").rglob("*.md"))
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_NOT_RUN = re.compile(r"<!-- not run: (?P<reason>[^>]+?) -->\s*$")
_PATH = re.compile(r"(?:#|<!--) (?P<path>src/\S+?\.(?:py|md))(?:: (?P<where>.+?))?(?: -->)?\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block.

    Attributes:
        path: the file that its first line names, "" when it names none.
        where: where in that file it belongs; "" when it is the whole file.
        body: its text without indentation and without that first line.
        not_run: the reason that a comment above it gives for not running it; "" where there is none.
    """

    page: Path
    line: int
    language: str
    path: str
    where: str
    body: str
    not_run: str

    @property
    def name(self) -> str:
        """Page and line, as an editor opens it."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """Every block of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [_block(page, text, found) for found in _FENCE.finditer(text)]


def of(*languages: str) -> list[Block]:
    """Every block of every page in one of these languages."""
    return [block for page in PAGES for block in blocks(page) if block.language in languages]


def _block(page: Path, text: str, found: re.Match[str]) -> Block:
    body = textwrap.dedent(found["body"])
    named = _PATH.match(body)
    return Block(
        page=page,
        line=text.count("\n", 0, found.start()) + 1,
        language=found["language"],
        path=named["path"] if named else "",
        where=(named["where"] or "") if named else "",
        body=body[named.end() :] if named else body,
        not_run=_reason(text[: found.start()]),
    )


def _reason(above: str) -> str:
    found = _NOT_RUN.search(above)
    return found["reason"] if found else ""
