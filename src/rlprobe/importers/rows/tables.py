"""Tables in HTML and in plain text, as texts of cells."""

import re
from html.parser import HTMLParser
from typing import Final

_MAX_CELLS: Final = 4 << 20  # of all tables of a fragment
_CELLS: Final = frozenset({"td", "th"})
_SEPARATOR = re.compile(r"\t|\s*\|\s*|\s{2,}")  # between the cells of a table in plain text
_RULE = re.compile(r"[\s|+:=-]+")  # the line under a header


def tables_in(html: str) -> list[list[list[str]]]:
    """Every table as rows of cells; nothing is executed, nested markup is passed over."""
    if "<table" not in html:
        return []
    parser = _Tables()
    parser.feed(html)
    return parser.tables


def text_tables_in(text: str, first: str) -> list[list[list[str]]]:
    """Every table in plain text whose header has the cell `first` first; a line of another width ends it."""
    tables: list[list[list[str]]] = []
    width = 0
    for line in text.split("\n") if first in text else ():
        cells = _SEPARATOR.split(line.strip(" \t\r|"))
        if cells[0] == first and len(cells) > 1:
            tables.append([cells])
            width = len(cells)
        elif width and len(cells) == width and cells[0].isdigit():
            tables[-1].append(cells)
        elif not _RULE.fullmatch(line):
            width = 0
    return tables


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
