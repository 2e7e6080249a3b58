"""rlprobe skill: the guide to RL post-training, to read, or as a skill for coding agents."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rlprobe.cli.arguments import add_json
from rlprobe.cli.failure import Failure

if TYPE_CHECKING:
    from rlprobe.skill.install import Step

SUMMARY = "Read the guide to RL post-training, or install it as a skill for coding agents."
DESCRIPTION = """install copies the skill into .agents/skills under the current folder, and into folders of tools that
are in use there (.claude, .cursor/skills, .gemini/skills, .github/skills). Files that somebody changed are kept. show
prints a page: guide, workflow or pitfalls. path prints where the skill lies in this installation. Exit code: 0 done,
1 some files were kept, 2 wrong usage or a folder that cannot be written."""
EXAMPLE = "rlprobe skill install\n  rlprobe skill install --dir ~/.claude/skills\n  rlprobe skill show pitfalls"
KEPT = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("action", metavar="install|show|path", choices=("install", "show", "path"), help="what to do")
    parser.add_argument("page", metavar="PAGE", nargs="?", help="of show: guide, workflow, pitfalls (default: guide)")
    parser.add_argument("--dir", dest="folder", metavar="DIR", help="install into this folder of skills alone")
    parser.add_argument("--user", action="store_true", help="install for the user: under the home folder")
    parser.add_argument("--force", action="store_true", help="replace files that somebody changed, too")
    add_json(parser, "the page, the place, or what was done,")


def run(args: argparse.Namespace) -> int:
    """Install the skill, print a page of it, or print its place."""
    from rlprobe.cli import screen
    from rlprobe.reports import json, pages
    from rlprobe.skill import bundle

    _check(args)
    if args.action == "path":
        place = {"schema": "rlprobe.skill-path/1", "path": str(bundle.FOLDER)}
        screen.write(json.document(place) if args.json else f"{bundle.FOLDER}\n")
        return 0
    if args.action == "install":
        return _install(args)
    page = args.page or "guide"
    if page not in bundle.PAGES:
        raise Failure(f"skill: expected one of {', '.join(bundle.PAGES)}, got {page[:80]!r}.")
    text = bundle.page(page)
    told = json.document({"schema": "rlprobe.page/1", "id": page, "markdown": text})
    screen.write(told if args.json else pages.render(text, width=screen.width(), color=screen.color()))
    return 0


def _check(args: argparse.Namespace) -> None:
    """Refuse words that the action would not look at."""
    if args.action != "show" and args.page is not None:
        raise Failure(f"skill: {args.action} takes no page, got {args.page[:80]!r}. `rlprobe skill show` prints pages.")
    if args.action != "install" and (args.folder is not None or args.user or args.force):
        raise Failure(f"skill: --dir, --user and --force belong to install, got {args.action}.")
    if args.user and args.folder is not None:
        raise Failure("skill: expected --dir or --user, got both.")


def _install(args: argparse.Namespace) -> int:
    from rlprobe import __version__
    from rlprobe.cli import screen
    from rlprobe.reports import json, skill
    from rlprobe.skill import install

    steps: list[Step] = []
    try:
        root = install.home() if args.user else Path.cwd()
        named = [] if args.folder is None else [install.named(args.folder)]
        for folder in named or [install.inside(each, root) for each in install.folders(root)]:
            steps += install.install(folder, version=__version__, force=args.force)
    except install.Refused as error:
        raise Failure(f"skill: {error}") from error
    where = ["--dir", args.folder] if args.folder is not None else ["--user"] if args.user else []
    screen.write(json.document(skill.document(steps, where)) if args.json else skill.render(steps))
    return KEPT if any(step.did == "kept" for step in steps) else 0
