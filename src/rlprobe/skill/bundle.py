"""The files of the skill that came with the package, and its pages as one reads them."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

NAME = "rl-post-training"
FOLDER = Path(__file__).parents[1] / ".agents" / "skills" / NAME
PAGES: Mapping[str, str] = MappingProxyType(
    {
        "guide": "SKILL.md",
        "workflow": "references/diagnostic-workflow.md",
        "pitfalls": "references/common-pitfalls.md",
    }
)
_FENCE = "---\n"  # around the front matter


def files() -> tuple[str, ...]:
    """Every file of the skill, relative to its folder, with forward slashes, in order."""
    found = (path for path in FOLDER.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return tuple(sorted(path.relative_to(FOLDER).as_posix() for path in found))


def page(name: str) -> str:
    """A page as Markdown without front matter; its links are relative to the file's folder.

    Raises:
        KeyError: no page has that name; `PAGES` has them all.
    """
    text = (FOLDER / PAGES[name]).read_text(encoding="utf-8")
    return text.split(_FENCE, 2)[2].lstrip("\n") if text.startswith(_FENCE) else text
