"""rlprobe diff: how two runs differ, or two sides of several seeds."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rlprobe.cli.arguments import add_json, add_reading, open_source
from rlprobe.cli.failure import Failure

if TYPE_CHECKING:
    from rlprobe.recording.run import Run

SUMMARY = "Compare two runs, or two sides of several seeds: settings, where the courses part, prompts, findings."
DESCRIPTION = """Two sources are one run a side. With several, `--` stands between the sides. Sources are recordings or
logs; a live or damaged run is compared as far as it can be read. Exit code: 0 compared, whatever differs; 2 wrong usage
or unreadable input."""
EXAMPLE = """rlprobe diff runs/before runs/after
  rlprobe diff runs/before runs/after --align tokens --html diff.html
  rlprobe diff runs/a1 runs/a2 runs/a3 -- runs/b1 runs/b2 runs/b3"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("a", nargs="+", metavar="A", help="the run that B is held against; the sources of its side")
    parser.add_argument("--against", nargs="+", default=[], metavar="B", help="the other side; `--` is short for it")
    add_reading(parser)
    parser.add_argument(
        "--align",
        choices=("step", "tokens", "progress"),
        default="step",
        help="which rows stand side by side: of one step, of as many tokens, or as far on (default: step)",
    )
    parser.add_argument("--html", metavar="FILE", help="write a page instead")
    parser.add_argument("--verbose", action="store_true", help="list everything that differs")
    add_json(parser, "the comparison")


def before_parsing(words: list[str]) -> list[str]:
    """`--` between the sides, which argparse would swallow, as the option that it is short for."""
    return ["--against" if word == "--" else word for word in words]


def run(args: argparse.Namespace) -> int:
    """Print the comparison, or write the page."""
    from rlprobe.cli import screen
    from rlprobe.doctor.engine import diagnose
    from rlprobe.forensics.alignment import Unalignable
    from rlprobe.forensics.comparison import compare
    from rlprobe.forensics.export import write_text
    from rlprobe.forensics.finding_differences import finding_differences
    from rlprobe.reports import diff_html, diff_json, diff_page, json
    from rlprobe.reports.format import plain

    ours, theirs = ([_opened(source, args) for source in side] for side in _sides(args))
    try:
        found = compare(ours, theirs, align=args.align)
    except Unalignable as error:
        raise Failure(str(error)) from error
    findings = finding_differences(*([diagnose(each) for each in side] for side in (ours, theirs)))
    if args.html is not None:
        write_text(Path(args.html), iter([diff_html.page(found, findings)]))
        screen.write(f"{plain(args.html)}: the comparison as a page\n")
    elif args.json:
        screen.write(json.document(diff_json.document(found, findings)))
    else:
        width, color = screen.width(), screen.color()
        screen.write(diff_page.render(found, findings, width=width, color=color, verbose=args.verbose))
    return 0


def _sides(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    if args.against:
        return args.a, args.against
    if len(args.a) != 2:
        raise Failure(f"diff: expected two sources, or several with `--` between the sides, got {len(args.a)}.")
    return [args.a[0]], [args.a[1]]


def _opened(source: str, args: argparse.Namespace) -> "Run":
    return open_source(argparse.Namespace(source=source, keys=args.keys, which=args.which))
