"""rlprobe explain: the page of a signature."""

import argparse

from rlprobe.cli.arguments import add_json
from rlprobe.cli.failure import Failure

SUMMARY = "Explain a finding: what it means, why it happens, what to do, what it is confused with."
DESCRIPTION = "Works offline. ID is the name that a finding shows, in any case, or an older name of it."
EXAMPLE = "rlprobe explain entropy_collapse"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("id", metavar="ID", nargs="?", help="a signature's id or alias")
    parser.add_argument("--list", action="store_true", help="list every signature")
    add_json(parser, "the list or the page")


def run(args: argparse.Namespace) -> int:
    """Print a page, or the list of pages."""
    from rlprobe.cli import screen
    from rlprobe.doctor import catalog
    from rlprobe.reports import json, pages

    if args.list or args.id is None:
        known = tuple(entry.signature for entry in catalog.entries())
        if args.json:
            screen.write(json.document(pages.document(known)))
        else:
            screen.write(pages.index(known, width=screen.width(), color=screen.color()))
        return 0
    try:
        text, signature = catalog.page(args.id), catalog.entry(args.id).signature
    except catalog.UnknownSignature as error:
        raise Failure(str(error)) from error
    if args.json:
        screen.write(json.document({"schema": "rlprobe.page/1", "id": signature.id, "markdown": text}))
    else:
        screen.write(pages.render(text, width=screen.width(), color=screen.color()))
    return 0
