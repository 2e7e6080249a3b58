"""rlprobe samples: which samples, how one group or one prompt went, texts beside their scores."""

import argparse
import sys

from rlprobe.cli.arguments import add_json, add_source, open_source
from rlprobe.cli.failure import Failure

SUMMARY = "Find samples: by reward, length, KL, text; one group side by side; one prompt over the run."
DESCRIPTION = """Conditions add up. EXPRESSION compares columns: reward > 0.9 and completion_tokens > 500 and not "42"
in completion; docs/samples.md has the grammar. A sample without the value fulfils neither a condition nor its opposite.
Exit code: 0 answered, also where no sample fits; 2 wrong usage or unreadable input."""
EXAMPLE = """rlprobe samples runs/my-run --sort length --where "reward > 0.9"
  rlprobe samples runs/my-run --spot-check 10 --function correct
  rlprobe samples runs/my-run --group 212/3
  rlprobe samples runs/my-run --contains "as an AI" --limit 200 -o refusals.html"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_source(parser)
    order = parser.add_argument
    order("--sort", metavar="BY", help="reward, advantage, kl, length, logprob, ratio, repetition, or any expression")
    order("--ascending", action="store_true", help="the smallest first")
    order("--where", metavar="EXPRESSION", help='samples for which it holds, such as "reward > 0.9 and kl < 0.1"')
    order("--around", type=int, metavar="STEP", help="samples of the steps around this one")
    order("--within", type=_count, default=5, metavar="N", help="how many steps around it (default: 5)")
    order("--contains", action="append", default=[], metavar="TEXT", help="completions with this text (repeatable)")
    order("--function", metavar="NAME", help="rank by this reward function, and show the text it got")
    order("--sample", action="append", default=[], metavar="STEP/SAMPLE", help="this sample (repeatable)")
    order("--spot-check", type=_count, metavar="N", help="draw N samples from all levels of the reward")
    order("--seed", type=int, default=0, metavar="S", help="decides what --spot-check draws (default: 0)")
    order("--group", metavar="[STEP/]ID", help="all completions of one group, side by side")
    order(
        "--prompt", metavar="ID or TEXT", help="one prompt over the run: its steps, rewards, first and last completions"
    )
    order("--columns", action="store_true", help="list what an expression may speak of")
    order("--limit", type=_count, metavar="N", help="how many samples (default: 10 on screen, 200 in HTML, else all)")
    order("--full", action="store_true", help="whole texts")
    order("-o", "--output", metavar="FILE", help="write .html, .json, .csv or .parquet instead")
    add_json(parser, "the samples")


def run(args: argparse.Namespace) -> int:
    """Answer on the screen, or into a file."""
    from rlprobe.cli import sample_views
    from rlprobe.forensics.export import TooMany
    from rlprobe.forensics.groups import NoSuchSamples
    from rlprobe.forensics.tokens import ExpressionError, pointed

    opened = open_source(args)
    try:
        view = next((view for view in ("columns", "group", "prompt") if getattr(args, view)), "samples")
        sample_views.VIEWS[view](opened, args)
    except ExpressionError as error:
        print(pointed(error), file=sys.stderr)
        raise Failure(str(error)) from error
    except (NoSuchSamples, TooMany) as error:
        raise Failure(f"{opened.source}: {error}") from error
    return 0


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, got {text[:80]!r}")
    return int(text)
