"""docs/cli.md, made from the parsers themselves."""

import argparse

from rlprobe.cli import COMMANDS, load
from rlprobe.cli.arguments import parser_of

HEAD = """# Command line

Made from the parsers: do not edit, run the tests with `RLPROBE_UPDATE_SNAPSHOTS=1` instead.

| exit code | meaning |
|---|---|
| 0 | done; for `doctor`, `watch` and `verify`: nothing at or above `--fail-on` |
| 1 | `doctor`, `watch`, `verify`: something at or above `--fail-on`; `validate`: a broken format; `skill`: files kept |
| 2 | wrong usage, or input that cannot be read: one line on stderr says what and what to do |
| 3 | `doctor`, `watch`, `verify`: nothing could be checked (too short, no known metric, nothing handed over) |
| 4 | an internal error; `RLPROBE_DEBUG=1` shows its traceback |
| 130 | interrupted (Ctrl-C) |
| 141 | whoever read the output went away (`rlprobe ... \\| head`) |

Pages fit the terminal up to 120 columns. Colours are left out when the output is no terminal, when `NO_COLOR` is set
and when `TERM` is `dumb`. Text from logs is shown without control characters.

`--json` prints one document whose `schema` names its kind and version.
Within a version fields are added, never renamed.
`next` lists commands that lead on from the answer, the most useful first; `TARGET` in them stands for your own code.
Numbers keep six significant digits; a number that is not finite is the string `"nan"`, `"inf"` or `"-inf"`. The text is
ASCII, and the same input gives the same bytes.
"""


def manual() -> str:
    """The whole page."""
    return HEAD + "".join(_section(name) for name in COMMANDS)


def _section(command: str) -> str:
    module = load(command)
    parser = parser_of(command, module)
    shown = [action for action in parser._actions if not isinstance(action, argparse._HelpAction)]
    rows = "".join(_row(action) for action in shown if action.help != argparse.SUPPRESS)
    examples = "\n".join(line.strip() for line in module.EXAMPLE.splitlines())
    about = f"{module.SUMMARY} {' '.join(module.DESCRIPTION.split())}"
    return f"\n## rlprobe {command}\n\n{about}\n\n```\n{examples}\n```\n\n| argument | meaning |\n|---|---|\n{rows}"


def _row(action: argparse.Action) -> str:
    shown = str(action.metavar or "|".join(action.choices or ())).replace("|", "\\|")  # a bare one would end the cell
    named = " ".join(filter(None, ("/".join(action.option_strings), "" if action.nargs == 0 else shown)))
    note = "" if action.required or action.option_strings else " (optional)"
    return f"| `{named}` | {action.help}{note} |\n"
