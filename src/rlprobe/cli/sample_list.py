"""The view of rlprobe samples that lists them: on the screen, as JSON, or into a file."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rlprobe.cli.failure import Failure
from rlprobe.cli.sample_questions import asked

if TYPE_CHECKING:
    from rlprobe.forensics.question import Answer
    from rlprobe.recording.run import Run
    from rlprobe.reports.samples_page import Listing

SHOWN = 10  # samples on the screen unless --limit says otherwise
SHOWN_HTML = 200  # samples of an HTML page unless --limit says otherwise


def samples(run: "Run", args: argparse.Namespace) -> None:
    """A list or a spot check."""
    from rlprobe.cli import screen
    from rlprobe.forensics.query import fetch
    from rlprobe.forensics.question import ask
    from rlprobe.reports import samples_json, samples_page

    ending = None if args.output is None else _ending(args.output)
    limit = args.limit or {None: SHOWN, ".html": SHOWN_HTML}.get(ending)
    answer = ask(run, asked(args, limit))
    on_screen = ending is None and not args.json
    rows = tuple(fetch(answer.blocks, answer.found)) if on_screen else ()
    facts = samples_page.listing(answer, run.source, rows=rows, find=tuple(args.contains))
    if ending is not None:
        screen.write(_written(args.output, ending, answer, facts))
    elif args.json:
        for part in samples_json.samples(facts, fetch(answer.blocks, answer.found)):
            screen.write(part)
    else:
        shown = samples_page.render_list(facts, width=screen.width(), color=screen.color(), full=args.full)
        screen.write(shown)


def _ending(name: str) -> str:
    """The ending of a file's name, which says what is written; a Failure where nothing is written under such a name."""
    from rlprobe.forensics.export import ENDINGS

    found = Path(name).suffix.lower()
    if found in ENDINGS:
        return found
    raise Failure(f"{name}: expected a name that ends in {', '.join(ENDINGS)}. It says what is written.")


def _written(name: str, ending: str, answer: "Answer", facts: "Listing") -> str:
    """Write the file; returns the line that says so."""
    from rlprobe.forensics import export
    from rlprobe.reports import format as say
    from rlprobe.reports import samples_html, samples_json

    path = Path(name)
    rows = export.ordered_rows(answer.blocks, answer.found)
    names = export.column_names(answer.blocks, answer.words)
    if ending == ".csv":
        export.write_csv(path, names, rows)
    elif ending == ".parquet":
        export.write_parquet(path, names, rows, answer.blocks, answer.words)
    else:
        page = samples_html.page if ending == ".html" else samples_json.samples
        export.write_text(path, page(facts, rows))
    return f"{say.plain(path)}: {say.counted(len(answer.found), 'sample')} of {facts.matched:,} that fit\n"
