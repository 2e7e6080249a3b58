"""Packages from the package index, each in a virtual environment of its own, for benches that put ours beside others.

They lie under `RLPROBE_BENCH_CACHE` (default `~/.cache/rlprobe-bench`) and are made once.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

_INSTALL_SECONDS = 600.0


def installed(requirement: str) -> tuple[Path, str]:
    """The folder of a package's programs, and why it is not to be had ("" when it is).

    Args:
        requirement: what pip is asked for; more than one, separated by blanks, where the package needs others.
    """
    root = Path(os.environ.get("RLPROBE_BENCH_CACHE", Path.home() / ".cache" / "rlprobe-bench"))
    home = root / requirement.replace("==", "-").replace(" ", "+")
    programs = home / ("Scripts" if sys.platform == "win32" else "bin")
    if not (home / "whole").exists():
        venv.create(home, with_pip=True, clear=True)
        command = [programs / "python", "-m", "pip", "install", "--quiet", *requirement.split()]
        try:
            subprocess.run(command, cwd=home, env=apart(), capture_output=True, timeout=_INSTALL_SECONDS, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            return programs, f"{requirement} could not be installed ({type(error).__name__})"
        (home / "whole").touch()
    return programs, ""


def apart() -> dict[str, str]:
    """The environment variables without the way to our own packages."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
