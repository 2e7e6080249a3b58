"""The second half of `rlprobe verify`: print the report, write the files asked for."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rlprobe.cli.failure import Failure
from rlprobe.cli.verification import earlier

if TYPE_CHECKING:
    from rlprobe.verifier.report import Report


def tell(report: "Report", args: argparse.Namespace) -> None:
    """Print the report in the form asked for, and write the files asked for."""
    from rlprobe.cli import screen
    from rlprobe.verifier import compare

    change = None
    if args.diff is not None:
        try:
            change = compare.compare(compare.statuses(earlier(args.diff), args.diff), report)
        except compare.UnreadableReport as error:
            raise Failure(f"verify: {error}") from error
    _files(report, args)
    if args.json:
        screen.write(report.to_json(change))
    elif args.markdown:
        from rlprobe.reports import verification_markdown

        screen.write(verification_markdown.render(report))
    else:
        from rlprobe.reports import verification

        page = verification.render(
            report, width=screen.width(), color=screen.color(), verbose=args.verbose, change=change
        )
        screen.write(page)


def _files(report: "Report", args: argparse.Namespace) -> None:
    if args.sarif is not None:
        from rlprobe import __version__
        from rlprobe.reports import sarif

        Path(args.sarif).write_text(sarif.render(report, version=__version__, root=str(Path.cwd())), encoding="utf-8")
    if args.junit is not None:
        from rlprobe.reports import junit

        Path(args.junit).write_text(junit.render(report), encoding="utf-8")
