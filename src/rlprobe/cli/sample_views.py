"""The views of rlprobe samples: each answers one kind of question, on the screen or into a file."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rlprobe.cli.failure import Failure

if TYPE_CHECKING:
    from rlprobe.forensics.question import Answer, Question
    from rlprobe.recording.run import Run
    from rlprobe.reports.samples_page import Listing

SHOWN = 10  # samples on the screen unless --limit says otherwise
SHOWN_HTML = 200  # samples of an HTML page unless --limit says otherwise


def columns(run: "Run", args: argparse.Namespace) -> None:
    """What an expression may speak of."""
    from rlprobe.cli import screen
    from rlprobe.forensics.question import opened
    from rlprobe.reports import json, pages, samples_json

    _, words = opened(run, _question(args))
    if args.json:
        screen.write(json.document(samples_json.columns(words, run.source)))
    else:
        screen.write(pages.pairs(sorted(words.kinds.items()), width=screen.width(), color=screen.color()))


def group(run: "Run", args: argparse.Namespace) -> None:
    """One group, side by side."""
    from rlprobe.cli import screen
    from rlprobe.forensics import groups
    from rlprobe.forensics.question import conditions, opened
    from rlprobe.reports import json, samples_json, samples_page

    question = _question(args)
    blocks, words = opened(run, question)
    facts = groups.group(blocks, words, args.group, conditions(question, words), _size(run))
    if args.json:
        screen.write(json.document(samples_json.group(facts, run.source)))
        return
    shown = samples_page.render_group(facts, run.source, width=screen.width(), color=screen.color(), full=args.full)
    screen.write(shown)


def prompt(run: "Run", args: argparse.Namespace) -> None:
    """One prompt over the run."""
    from rlprobe.cli import screen
    from rlprobe.forensics import prompts
    from rlprobe.forensics.question import conditions, opened
    from rlprobe.reports import json, samples_json, samples_page

    question = _question(args)
    blocks, words = opened(run, question)
    facts = prompts.timeline(blocks, words, args.prompt, conditions(question, words))
    if args.json:
        screen.write(json.document(samples_json.timeline(facts, run.source)))
        return
    shown = samples_page.render_timeline(facts, run.source, width=screen.width(), color=screen.color(), full=args.full)
    screen.write(shown)


def samples(run: "Run", args: argparse.Namespace) -> None:
    """A list or a spot check."""
    from rlprobe.cli import screen
    from rlprobe.forensics.export import ENDINGS
    from rlprobe.forensics.query import fetch
    from rlprobe.forensics.question import ask
    from rlprobe.reports import samples_json, samples_page

    ending = None if args.output is None else Path(args.output).suffix.lower()
    if ending is not None and ending not in ENDINGS:
        raise Failure(f"{args.output}: expected a name that ends in {', '.join(ENDINGS)}. It says what is written.")
    limit = args.limit or {None: SHOWN, ".html": SHOWN_HTML}.get(ending)
    answer = ask(run, _question(args, limit))
    facts = _listing(run, answer, args)
    if ending is not None:
        screen.write(_written(Path(args.output), ending, answer, facts))
    elif args.json:
        for part in samples_json.samples(facts, fetch(answer.blocks, answer.found)):
            screen.write(part)
    else:
        shown = samples_page.render_list(facts, width=screen.width(), color=screen.color(), full=args.full)
        screen.write(shown)


VIEWS: Mapping[str, Callable[["Run", argparse.Namespace], None]] = {
    "columns": columns,
    "group": group,
    "prompt": prompt,
    "samples": samples,
}


def _question(args: argparse.Namespace, limit: int | None = None) -> "Question":
    from rlprobe.forensics.question import Question

    return Question(
        where=args.where,
        sort=args.sort,
        ascending=args.ascending,
        around=args.around,
        within=args.within,
        contains=tuple(args.contains),
        function=args.function,
        samples=tuple(args.sample),
        spot_check=args.spot_check,
        seed=args.seed,
        limit=limit,
    )


def _listing(run: "Run", answer: "Answer", args: argparse.Namespace) -> "Listing":
    from rlprobe.forensics.query import fetch
    from rlprobe.reports.samples_page import Listing

    on_screen = args.output is None and not args.json
    return Listing(
        source=run.source,
        question=answer.said,
        rows=tuple(fetch(answer.blocks, answer.found)) if on_screen else (),
        matched=answer.found.matched,
        find=tuple(args.contains),
        key=answer.key,
        keys=tuple(answer.found.keys.tolist()) if answer.key else (),
        strata=answer.strata,
        notes=answer.notes,
    )


def _size(run: "Run") -> int | None:
    size = run.manifest.settings.get("group_size")
    return size if isinstance(size, int) and not isinstance(size, bool) else None


def _written(path: Path, ending: str, answer: "Answer", facts: "Listing") -> str:
    """Write the file; returns the line that says so."""
    from rlprobe.forensics import export
    from rlprobe.reports import format as say
    from rlprobe.reports import samples_html, samples_json

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
