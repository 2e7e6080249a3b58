"""Starts the tap in every Python process under `rlprobe run`, which puts this folder into PYTHONPATH.

The sitecustomize that would have run without it runs first. Nothing here may end or disturb the process.
"""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec


def _run_the_other() -> None:
    """Run the sitecustomize behind this one, if there is any; it takes this one's name, as it would have had."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _start() -> None:
    try:
        from rlprobe.integrations.tap_process import start
    except ImportError:
        missing = (
            f"rlprobe: {sys.executable} has no rlprobe, so nothing is recorded. Install it there: pip install rlprobe"
        )
        if os.environ.get("RLPROBE_TAP_PROCESS") == str(os.getpid()) and sys.stderr is not None:
            print(missing, file=sys.stderr)  # noqa: T201 - no logging is set up this early
        return
    try:
        start()
    except Exception as error:
        if sys.stderr is not None:
            print(f"rlprobe: the tap did not start ({type(error).__name__}: {error})", file=sys.stderr)  # noqa: T201 - as above


try:
    _run_the_other()
finally:
    _start()
