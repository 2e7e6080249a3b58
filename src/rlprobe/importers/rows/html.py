"""The tables of an HTML fragment, as texts of cells."""

from html.parser import HTMLParser
from typing import Final

_MAX_CELLS: Final = 4 << 20  # of all tables of a fragment
_CELLS: Final = frozenset({"td", "th"})


def tables_in(html: str) -> list[list[list[str]]]:
    """Every table as rows of cells; nothing is executed, nested markup is passed over."""
    if "<table" not in html:
        return []
    parser = _Tables()
    parser.feed(html)
    return parser.tables


class _Tables(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[list[list[str]]] = []
        self._cell: list[str] | None = None
        self._cells = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Open what begins here."""
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in _CELLS and self.tables and self._cells < _MAX_CELLS:
            self._cells += 1
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        """Close a cell."""
        if tag in _CELLS and self._cell is not None:
            if not self.tables[-1]:
                self.tables[-1].append([])
            self.tables[-1][-1].append("".join(self._cell).strip())
            self._cell = None

    def handle_data(self, data: str) -> None:
        """Keep the text of a cell."""
        if self._cell is not None:
            self._cell.append(data)
