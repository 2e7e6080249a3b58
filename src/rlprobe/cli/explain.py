"""rlprobe explain: the page of a signature or of a reassurance."""

import argparse

from rlprobe.cli.arguments import add_json
from rlprobe.cli.failure import Failure

SUMMARY = "Explain a finding: what it means, why it happens, what to do, what it is confused with."
DESCRIPTION = "Works offline. ID is the name that a finding shows, in any case, or an older name of it."
EXAMPLE = "rlprobe explain entropy_collapse"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("id", metavar="ID", nargs="?", help="the id of a signature or reassurance, or an alias")
    parser.add_argument("--list", action="store_true", help="list every signature and reassurance")
    add_json(parser, "the list or the page")


def run(args: argparse.Namespace) -> int:
    """Print a page, or the list of pages."""
    from rlprobe.cli import screen
    from rlprobe.doctor import catalog, reassurance_page
    from rlprobe.reports import json, pages

    if args.list or args.id is None:
        known = tuple(entry.signature for entry in catalog.entries())
        calm = [(one.normal.id, one.normal.title) for one in catalog.normals()]
        if args.json:
            named = [{"id": id, "title": title} for id, title in calm]
            screen.write(json.document({**pages.document(known), "reassurances": named}))
        else:
            screen.write(pages.index(known, width=screen.width(), color=screen.color()))
            screen.write("looks alarming, is normal\n")
            screen.write(
                pages.pairs([(f"  {id}", title) for id, title in calm], width=screen.width(), color=screen.color())
            )
        return 0
    if normal := reassurance_page.find(args.id):
        id, text = normal.id, reassurance_page.alone(normal)
    else:
        try:
            id, text = catalog.entry(args.id).signature.id, catalog.page(args.id)
        except catalog.UnknownSignature as error:
            raise Failure(str(error)) from error
    if args.json:
        screen.write(json.document({"schema": "rlprobe.page/1", "id": id, "markdown": text}))
    else:
        screen.write(pages.render(text, width=screen.width(), color=screen.color()))
    return 0
