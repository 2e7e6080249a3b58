"""Notebooks (`.ipynb`): the tables that a transformers trainer shows under its cell, or rows that are printed there.

A table is a run: a cell that trains again shows another. Of several the last is read, or the one that was asked for.
Settings come from a call such as `GRPOConfig(beta=0.04)` in a cell, parsed and never run.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rlprobe.importers.json_document import DocumentRows, Parsed
from rlprobe.importers.rows.aside import Aside
from rlprobe.importers.rows.console import LineReader, cleaned
from rlprobe.importers.rows.decode import Row
from rlprobe.importers.rows.feed import RowFeed
from rlprobe.importers.rows.plan import knows_metric
from rlprobe.importers.rows.source_code import configuration_in
from rlprobe.importers.rows.steps import STEP_KEY_SET, step_of
from rlprobe.importers.rows.tables import tables_in, text_tables_in
from rlprobe.importers.step_lines import StepLines
from rlprobe.importers.trl_console import ConsoleLines
from rlprobe.importers.verl_console import VerlLines
from rlprobe.recording.run import Feed

NAME = "notebook"
EXPECTS = "a Jupyter notebook with a trainer's table of steps, or its printed rows, in an output"
CLUES = (b'"cell_type"', b'"nbformat"', b'"outputs"')

_STEP: Final = "Step"  # the first column of the trainer's tables
_MAX_LISTED: Final = 20  # runs in a note


def sniff(path: Path, head: bytes) -> bool:
    """Whether a JSON document begins as a notebook."""
    return head.lstrip()[:1] == b"{" and b'"cells"' in head and b'"cell_type"' in head


def read(path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
    """The feed of one of a notebook's runs; a notebook saved anew gives the rows that were added."""
    aside = Aside()
    return RowFeed(str(path), NAME, DocumentRows(lambda: path, _Notebook(run, aside).parse), keys, None, aside)


@dataclass(frozen=True, slots=True)
class _Notebook:
    """Which of a notebook's runs is wanted, and where its settings go."""

    run: int | None
    aside: Aside

    def parse(self, document: object) -> Parsed:
        """The rows of the wanted run; several runs are listed in a note."""
        cells = document.get("cells") if isinstance(document, dict) else None
        runs = [run for cell in cells or () if isinstance(cell, dict) for run in self._runs_of(cell)]
        place = len(runs) if self.run is None else self.run
        return Parsed(rows=runs[place - 1] if 0 < place <= len(runs) else [], notes=_notes(runs, self.run))

    def _runs_of(self, cell: Mapping[str, object]) -> Iterator[list[Row]]:
        """The runs in the outputs of one cell; its source's settings are noted."""
        self.aside.configuration.update(configuration_in(_joined(cell.get("source"))))
        outputs = cell.get("outputs")
        printed = ""
        for output in outputs if isinstance(outputs, list) else ():
            if not isinstance(output, dict):
                continue
            printed += _joined(output.get("text"))
            data = output.get("data")
            html, plain = (
                _joined(data.get(kind)) if isinstance(data, dict) else "" for kind in ("text/html", "text/plain")
            )
            yield from _runs_in(tables_in(html) if html else text_tables_in(plain, _STEP))
        yield from _runs_in(text_tables_in(printed, _STEP))
        if rows := _printed(printed, self.aside):
            yield rows


def _joined(text: object) -> str:
    """A notebook's text, which is one string or a list of lines."""
    if isinstance(text, list):
        return "".join(line for line in text if isinstance(line, str))
    return text if isinstance(text, str) else ""


def _runs_in(tables: list[list[list[str]]]) -> Iterator[list[Row]]:
    """Tables of steps: a column of steps (or epochs) and one that is a metric."""
    for header, *lines in filter(None, tables):
        placed = any(name in STEP_KEY_SET or name == "Epoch" for name in header)
        if placed and any(knows_metric(name) for name in header) and lines:
            yield [dict(zip(header, cells, strict=False)) for cells in lines if len(cells) <= len(header)]


def _printed(text: str, aside: Aside) -> list[Row]:
    """Rows that a trainer printed among other text."""
    lines = [line.strip() for line in text.replace("\r", "\n").split("\n")]
    shown = [cleaned(line.encode())[1] for line in lines if line]
    readers: tuple[LineReader, ...] = (ConsoleLines(aside), VerlLines(aside), StepLines({}))
    for reader in readers:
        marked = [line for line in shown if any(mark.decode() in line for mark in reader.marks)]
        rows = [row for line in marked for row in reader.rows(line, len(line)) or ()]
        rows += reader.last("")[0]
        if rows:
            return rows
    return []


def _notes(runs: list[list[Row]], run: int | None) -> tuple[str, ...]:
    if len(runs) < 2:
        return ()
    listed = ", ".join(f"{place}: {_span(rows)}" for place, rows in enumerate(runs[:_MAX_LISTED], 1))
    taken = "the last is read" if run is None else f"run {run} is read"
    return (f"{len(runs)} runs are shown in this notebook ({listed}); {taken}.",)


def _span(rows: list[Row]) -> str:
    steps = [
        step for row in rows if (step := step_of(row, tuple(key for key in row if key in STEP_KEY_SET))) is not None
    ]
    return f"steps {steps[0]} to {steps[-1]}, {len(rows)} rows" if steps else f"{len(rows)} rows"
