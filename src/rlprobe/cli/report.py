"""rlprobe report: the whole diagnosis of a run as one HTML page."""

import argparse
import os
from pathlib import Path

from rlprobe.cli.arguments import add_source, open_source
from rlprobe.cli.failure import Failure

SUMMARY = "Write the diagnosis, charts and samples of a run as one HTML page that works offline."
DESCRIPTION = """Reads a recording or any log that an importer knows, live and damaged ones too. The page holds texts of
samples: send it where they may be read. Needs the extra rlprobe[report]."""
EXAMPLE = "rlprobe report runs/my-run -o run.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_source(parser)
    parser.add_argument("-o", "--output", metavar="FILE", default="report.html", help="the page (default: report.html)")
    parser.add_argument("--until", type=int, metavar="STEP", help="judge as if the run had ended with this step")
    parser.add_argument("--config", metavar="FILE", help="doctor.toml: what to check, and with which thresholds")


def run(args: argparse.Namespace) -> int:
    """Write the page and say what is in it."""
    from rlprobe.cli import screen
    from rlprobe.doctor import configuration
    from rlprobe.doctor.engine import diagnose
    from rlprobe.reports.format import plain, quantity
    from rlprobe.reports.html import library, page
    from rlprobe.reports.html.gather import gather

    target = Path(args.output)
    _refuse_other_files(target, page.MARK)
    try:
        chosen = configuration.DEFAULT if args.config is None else configuration.load(args.config)
        charts = library.library()
    except (configuration.ConfigurationError, library.MissingLibrary) as error:
        raise Failure(str(error)) from error
    opened = open_source(args)
    diagnosis = diagnose(opened, configuration=chosen, until=args.until)
    text = page.render(gather(opened, diagnosis, configuration=chosen), charts).encode("utf-8", "replace")
    _write(target, text)
    told = f"{target}: {diagnosis.verdict}, {quantity(len(text), 'bytes')}. {diagnosis.sentence}"
    screen.write(f"{plain(told)}\n")
    return 0


def _refuse_other_files(target: Path, mark: str) -> None:
    """A report may replace a report; anything else of that name is kept."""
    if target.is_dir():
        raise Failure(f"{target}: expected a file's name, got a folder. Name the page: -o run.html.")
    if not target.parent.is_dir():
        raise Failure(f"{target.parent}: expected a folder for {target.name}, found none. Make it, or choose another.")
    if not target.exists():
        return
    with target.open("rb") as existing:
        if existing.read(len(mark)) != mark.encode():
            raise Failure(f"{target}: expected a report or nothing, got another file. Choose another name with -o.")


def _write(target: Path, text: bytes) -> None:
    """Put the page in place as a whole: who opens it meanwhile sees the old one."""
    beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        beside.write_bytes(text)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)
