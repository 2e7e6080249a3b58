"""rlprobe explain: the page of a signature or of a reassurance."""

import argparse

from rlprobe.cli.arguments import add_json
from rlprobe.cli.failure import Failure

SUMMARY = "Explain a finding: what it means, why it happens, what to do, what it is confused with."
DESCRIPTION = "Works offline. ID is the name that a finding shows, in any case, or an older name of it."
EXAMPLE = "rlprobe explain entropy_collapse"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "id", metavar="ID", nargs="?", help="the id of a signature, a reassurance or a check, or an alias"
    )
    parser.add_argument("--list", action="store_true", help="list every signature and reassurance")
    add_json(parser, "the list or the page")


def run(args: argparse.Namespace) -> int:
    """Print a page, or the list of pages."""
    from rlprobe.cli import screen
    from rlprobe.doctor import catalog
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
    id, text = _page(args.id)
    if args.json:
        screen.write(json.document({"schema": "rlprobe.page/1", "id": id, "markdown": text}))
    else:
        screen.write(pages.render(text, width=screen.width(), color=screen.color()))
    return 0


def _page(name: str) -> tuple[str, str]:
    """Id and page of a check, a reassurance or a signature; a signature's ends with the checks that confirm it."""
    from rlprobe.doctor import catalog, reassurance_page
    from rlprobe.verifier import catalog as verifier

    try:
        if verifier.is_id(name):
            return name.upper(), verifier.page(name)
        if normal := reassurance_page.find(name):
            return normal.id, reassurance_page.alone(normal)
        id = catalog.entry(name).signature.id
        return id, catalog.page(name) + verifier.confirming(id)
    except (catalog.UnknownSignature, verifier.UnknownCheck) as error:
        raise Failure(str(error)) from error
