"""rlprobe explain: the page of a signature or of a reassurance."""

import argparse
from collections.abc import Mapping

from rlprobe.cli.arguments import add_json
from rlprobe.cli.failure import Failure

SUMMARY = "Explain a finding or a check: what it is, what it looks like, what to do, what it is confused with."
DESCRIPTION = "Works offline. ID is the name that a finding shows, in any case, or an older name of it."
EXAMPLE = "rlprobe explain entropy_collapse"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "id", metavar="ID", nargs="?", help="the id of a signature, a reassurance or a check, or an alias"
    )
    parser.add_argument("--list", action="store_true", help="list every signature, reassurance and check")
    add_json(parser, "the list or the page")


def run(args: argparse.Namespace) -> int:
    """Print a page, or the list of pages."""
    from rlprobe.cli import screen
    from rlprobe.doctor import catalog
    from rlprobe.reports import json, pages
    from rlprobe.verifier import catalog as verifier

    if args.list or args.id is None:
        known = tuple(entry.signature for entry in catalog.entries())
        calm = [(one.normal.id, one.normal.title) for one in catalog.normals()]
        if args.json:
            named = [{"id": id, "title": title} for id, title in calm]
            checks = [{"id": one.check.id, "title": one.check.title} for one in verifier.entries()]
            screen.write(json.document({**pages.document(known), "reassurances": named, "checks": checks}))
        else:
            screen.write(pages.index(known, width=screen.width(), color=screen.color()))
            screen.write("looks alarming, is normal\n")
            screen.write(
                pages.pairs([(f"  {id}", title) for id, title in calm], width=screen.width(), color=screen.color())
            )
            screen.write("checks of your code: `rlprobe verify --list`\n")
        return 0
    page = _page(args.id)
    if args.json:
        screen.write(json.document(page))
    else:
        screen.write(pages.render(str(page["markdown"]), width=screen.width(), color=screen.color()))
    return 0


def _page(name: str) -> Mapping[str, object]:
    """The page of a check, a reassurance or a signature, with its id and what comes next."""
    from rlprobe.reports import catalog_page
    from rlprobe.skill import bundle

    try:
        return catalog_page.document(name)
    except catalog_page.UnknownPage as error:
        if (guide := name.strip().lower()) in bundle.PAGES:
            raise Failure(f"explain: {guide} is a page of the guide: rlprobe skill show {guide}") from error
        raise Failure(str(error)) from error
