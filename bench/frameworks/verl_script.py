"""What examples/verl_grpo.sh hands to verl: the shell runs it, with a printer in the place of Python."""

import os
import subprocess
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "verl_grpo.sh"


def words_of(*arguments: str) -> list[str]:
    """The words of the command: `-m`, verl's program, and one override of its configuration each.

    Raises:
        subprocess.CalledProcessError: the script failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        printer = Path(folder) / "printer"
        printer.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="utf-8")
        printer.chmod(0o755)
        variables = {name: value for name, value in os.environ.items() if name not in ("MODEL", "GPUS")}
        command = ["sh", str(SCRIPT), *arguments]
        done = subprocess.run(
            command, env={**variables, "PYTHON": str(printer)}, capture_output=True, text=True, check=True
        )
    return done.stdout.splitlines()
