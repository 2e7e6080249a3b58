"""rlprobe watch: follow a run while it trains, say what goes wrong, halt it where that is allowed."""

import argparse

from rlprobe.cli.arguments import add_json, add_reading
from rlprobe.cli.failure import Failure

SUMMARY = "Follow runs while they train: tell findings as they come, send alerts, ask for a halt."
DESCRIPTION = """Waits for a run that is not there yet, and ends when the run ends, with the final diagnosis and the
exit codes of `doctor`. A folder is watched until Ctrl-C, runs to come included. Messages go nowhere unless --alert,
or the variable RLPROBE_ALERTS (URLs between blanks), names where. docs/watching.md tells all."""
EXAMPLE = "rlprobe watch runs/my-run --alert 'slack://...' --halt\n  rlprobe watch runs/old-run --replay --speed 60"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("source", metavar="SOURCE", nargs="?", help="a run, a growing log, or a folder of runs")
    add_reading(parser)
    parser.add_argument(
        "--alert", action="append", default=[], metavar="URL", help="send messages there: an apprise URL (repeatable)"
    )
    parser.add_argument("--halt", action="store_true", help="ask training to halt where the policy allows it")
    parser.add_argument("--once", action="store_true", help="look once, tell what is new since the last look, and end")
    parser.add_argument("--state", metavar="FILE", help="what was told is kept there (default: beside the run)")
    parser.add_argument("--replay", action="store_true", help="play a finished run as if it were live")
    parser.add_argument("--speed", type=float, metavar="X", help="with --replay: X times as fast as training was")
    parser.add_argument("--config", metavar="FILE", help="doctor.toml; its section [guardian] sets messages and policy")
    parser.add_argument("--show-config", action="store_true", help="print the section [guardian] in force and exit")
    parser.add_argument(
        "--fail-on", choices=("critical", "warning", "never"), default="critical", help="as in `doctor`"
    )
    parser.add_argument("--interval", type=float, default=1.0, metavar="SECONDS", help="between two looks (default: 1)")
    parser.add_argument("--beside", type=int, metavar="PID", help="end when this parent process does (attach uses it)")
    parser.add_argument("--plain", action="store_true", help="lines instead of the live page on a terminal")
    add_json(parser, "one object a line")


def run(args: argparse.Namespace) -> int:
    """Watch, or play; returns the exit code of the worst diagnosis."""
    from rlprobe.cli.doctor import FOUND, NOTHING_CHECKED, exit_code
    from rlprobe.guardian import command, settings

    problem = command.wrong_usage(args)
    if problem:
        raise Failure(f"watch: {problem} `rlprobe watch --help` shows an example.")
    try:
        if args.show_config:
            print(settings.show(settings.DEFAULT if args.config is None else settings.load(args.config)), end="")
            return 0
        diagnoses = command.execute(args)
    except command.REFUSALS as error:
        raise Failure(str(error)) from error
    codes = {exit_code(one, args.fail_on) for one in diagnoses}
    if FOUND in codes:
        return FOUND
    return 0 if 0 in codes else NOTHING_CHECKED
