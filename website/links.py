"""Links of the site: of the repository's paths, of ids, and of threads in trackers."""

import posixpath
import re
from collections.abc import Callable, Mapping

# What is left alone: fenced blocks, code in a line, links and pictures, headings, comments.
_APART = re.compile(
    r"^(?P<fence> *```+)[^\n]*\n.*?^(?P=fence)[ ]*$|`[^`\n]*`|!?\[[^\]]*\]\([^)]*\)|^#[^\n]*$|<!--.*?-->",
    re.DOTALL | re.MULTILINE,
)
_LINK = re.compile(r"(!?\[[^\]]*\])\((?!https?://|#|mailto:)([^)#\s]*)(#[^)]*)?\)")
_ID = re.compile(r"\b(?:[A-Z]{2,}(?:_[A-Z0-9]+)+|STALENESS|GIBBERISH|V[1-8]\d\d)\b")
_THREAD = re.compile(r"(?<![\w/])((?:[\w.-]+/)?[A-Za-z][\w.-]*)#(\d+)\b")

OWNERS = {
    "mlx-lm-lora": "Goekdeniz-Guelmez", "ms-swift": "modelscope", "open-r1": "huggingface", "openrlhf": "OpenRLHF",
    "rllm": "rllm-org", "slime": "THUDM", "trl": "huggingface", "verl": "verl-project", "verl-omni": "verl-project",
}  # fmt: skip


def _outside(text: str, change: Callable[[str], str]) -> str:
    """The text with what stands outside code, links and headings changed."""
    out, last = [], 0
    for found in _APART.finditer(text):
        out += [change(text[last : found.start()]), found[0]]
        last = found.end()
    return "".join([*out, change(text[last:])])


def _outside_fences(text: str, change: Callable[[str], str]) -> str:
    """The text with everything but fenced blocks changed."""
    pieces = re.split(r"(^ *```.*?^ *```[ ]*$)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(piece if place % 2 else change(piece) for place, piece in enumerate(pieces))


def moved(text: str, *, source: str, page: str, pages: Mapping[str, str]) -> str:
    """Links by the repository's paths, as links between the site's pages.

    Args:
        text: Markdown.
        source: path of the text in the repository, from its root.
        page: path of the page in the site.
        pages: file of the repository -> its page in the site.
    """

    def one(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), found[2]))
        inside = pages.get(target) or target.removeprefix("docs/")
        return f"{found[1]}({posixpath.relpath(inside, posixpath.dirname(page) or '.')}{found[3] or ''})"

    return _outside_fences(text, lambda plain: _LINK.sub(one, plain))


def named(text: str, *, page: str, ids: frozenset[str]) -> str:
    """Ids as links to their pages, threads as links to their trackers."""
    folder = posixpath.relpath("catalog", posixpath.dirname(page) or ".")

    def id_link(found: re.Match[str]) -> str:
        id = found[0]
        known = id in ids and page != f"catalog/{id}.md"
        return f"[{id}]({posixpath.join(folder, id)}.md)" if known else id

    return _outside(_outside(text, lambda plain: _ID.sub(id_link, plain)), lambda plain: _THREAD.sub(_tracker, plain))


def _tracker(found: re.Match[str]) -> str:
    name = found[1]
    path = name if "/" in name else f"{OWNERS[name]}/{name}" if name in OWNERS else ""
    return f"[{found[0]}](https://github.com/{path}/issues/{found[2]})" if path else found[0]
