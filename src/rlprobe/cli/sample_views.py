"""The views of rlprobe samples: each answers one kind of question, on the screen or into a file."""

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rlprobe.cli.sample_list import samples
from rlprobe.cli.sample_questions import asked

if TYPE_CHECKING:
    from rlprobe.recording.run import Run


def columns(run: "Run", args: argparse.Namespace) -> None:
    """What an expression may speak of."""
    from rlprobe.cli import screen
    from rlprobe.forensics.question import opened
    from rlprobe.reports import json, pages, samples_json

    _, words = opened(run, asked(args))
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

    question = asked(args)
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

    question = asked(args)
    blocks, words = opened(run, question)
    facts = prompts.timeline(blocks, words, args.prompt, conditions(question, words))
    if args.json:
        screen.write(json.document(samples_json.timeline(facts, run.source)))
        return
    shown = samples_page.render_timeline(facts, run.source, width=screen.width(), color=screen.color(), full=args.full)
    screen.write(shown)


VIEWS: Mapping[str, Callable[["Run", argparse.Namespace], None]] = {
    "columns": columns,
    "group": group,
    "prompt": prompt,
    "samples": samples,
}


def _size(run: "Run") -> int | None:
    size = run.manifest.settings.get("group_size")
    return size if isinstance(size, int) and not isinstance(size, bool) else None
