"""rlprobe mcp: serve the runs under a folder to a program that speaks the Model Context Protocol."""

import argparse
import sys
from importlib import metadata

from rlprobe.cli.failure import Failure

SUMMARY = "Serve runs, diagnoses, samples and pages over the Model Context Protocol, read-only."
DESCRIPTION = """Speaks on standard input and output; a client starts it. It reads recordings and logs under --root and
nothing outside, links included, and sends texts of samples to the client that asks. Without --allow-verify it runs
nobody's code. Needs the extra rlprobe[mcp]."""
EXAMPLE = """rlprobe mcp --root runs
  in a client's configuration: {"command": "rlprobe", "args": ["mcp", "--root", "/path/to/runs"]}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--root", metavar="DIR", default=".", help="the folder that is served (default: the current)")
    parser.add_argument(
        "--allow-verify",
        action="store_true",
        help="also offer verify, which imports and runs Python files under the folder with your rights",
    )


def run(args: argparse.Namespace) -> int:
    """Serve until the client goes."""
    from rlprobe import __version__
    from rlprobe.mcp.root import Refused, Root

    try:
        root = Root.of(args.root)
    except Refused as error:
        raise Failure(f"mcp: {error}") from error
    try:
        from rlprobe.mcp.server import server
    except ImportError as error:
        raise Failure(
            f"mcp: expected the package mcp 2, got {_found()}. pip install 'rlprobe[mcp]' brings it."
        ) from error
    if sys.stdin.isatty():
        print("rlprobe mcp: serving on standard input and output, for a client; Ctrl-C ends it.", file=sys.stderr)
    server(root, version=__version__, allow_verify=args.allow_verify).run()
    return 0


def _found() -> str:
    try:
        return f"version {metadata.version('mcp')}"
    except metadata.PackageNotFoundError:
        return "none"
