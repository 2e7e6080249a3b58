"""How foreign text becomes HTML: escaped, on one line or as it was written, with what cannot be seen made visible."""

import html
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping

from rlprobe.reports.format import plain

_FORMATTING = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})  # what a reader cannot see, or is not what it seems
_PLAIN_ENOUGH = re.compile(r"[ -~\n\t]*")
_KEPT = "\n\t"
_CONTROLS = (  # ISO 646's names of U+0000 to U+001F
    "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "HT", "LF", "VT", "FF", "CR", "SO", "SI",
    "DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US",
)  # fmt: skip


def text(value: object) -> str:
    """Foreign text as one line of HTML; controls, formats and escape sequences are left out."""
    return html.escape(plain(value))


def written(value: str) -> str:
    """Foreign text of several lines as HTML, each character shown as itself or, where it has no look, by its name."""
    value = value.replace("\r\n", "\n")
    if _PLAIN_ENOUGH.fullmatch(value):
        return html.escape(value)
    return "".join(map(_shown, value))


def _shown(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in _FORMATTING:
        return html.escape(character)
    code = ord(character)
    sign = _CONTROLS[code] if code < len(_CONTROLS) else f"U+{code:04X}"
    return f'<span class="unseen" title="U+{code:04X}">{sign}</span>'


def tag(name: str, content: str = "", /, **attributes: object) -> str:
    """An element; content is HTML, attribute values are escaped, `class_` is class, None leaves an attribute out."""
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{shown}>{content}</{name}>"


def lines(parts: Iterable[str]) -> str:
    """Pieces of HTML, one a line."""
    return "\n".join(part for part in parts if part)


def json_block(name: str, value: Mapping[str, object]) -> str:
    """A tree as JSON in a script element that is not executed; no content can end the element."""
    told = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    told = told.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f'<script type="application/json" id="{name}">{told}</script>'
