"""Verification on request: it imports and runs the user's code, so in a process of its own, for a bounded time."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress

from rlprobe.mcp.fitting import fitted
from rlprobe.mcp.root import Refused, Root
from rlprobe.reports.json import document

BUDGET, GRACE = 60, 60  # seconds that the checks may take, and that importing and the rest may take beyond them
MOST_BYTES = 32 << 20  # of a report; those of the whole catalog have a few hundred thousand
_NAME = re.compile(r"[A-Za-z_][\w.]{0,200}")


def verification(root: Root, target: str, only: str | None) -> str:
    """What `rlprobe verify` says of FILE.py::NAME under the root: counts, violations, what to do next.

    Raises:
        Refused: the target is no such name, or its code cannot be loaded or takes too long.
    """
    place, _, name = target.partition("::")
    path = root.inside(place)
    if not place.endswith(".py") or not path.is_file() or not _NAME.fullmatch(name):
        raise Refused(f"{target[:200]}: expected FILE.py::NAME with a file under the served folder.")
    words = ["verify", f"{path}::{name}", "--json", "--budget", str(BUDGET)]
    told = _run(root, [*words, f"--only={only}"] if only else words)
    checks = told["checks"]
    shown = [check for check in checks if check["status"] in ("fail", "warn")] if isinstance(checks, list) else []
    kept = {key: told[key] for key in ("schema", "ok", "counts", "next", "missing", "bindings", "measured", "declared")}
    return fitted(document({**kept, "findings": shown}))


def _run(root: Root, words: list[str]) -> Mapping[str, object]:
    command = [sys.executable, "-m", "rlprobe", *words]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = subprocess.Popen(
            command, cwd=root.path, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
        try:
            started.wait(BUDGET + GRACE)
        except subprocess.TimeoutExpired as error:
            raise Refused(
                f"the code has not answered for {BUDGET + GRACE} seconds. Hand over smaller inputs."
            ) from error
        finally:
            with suppress(ProcessLookupError):  # what the code has started ends with it
                os.killpg(started.pid, signal.SIGKILL)
            started.wait()
        out.seek(0)
        err.seek(0, os.SEEK_END)
        err.seek(max(0, err.tell() - 4096))
        text, complaint = out.read(MOST_BYTES), err.read().decode("utf-8", "replace")
    if started.returncode in (0, 1, 3):
        with suppress(ValueError):
            report: dict[str, object] = json.loads(text)
            return report
    lines = complaint.strip().splitlines() or [f"exit code {started.returncode}"]
    raise Refused(lines[-1].removeprefix("rlprobe: ")[:500])
