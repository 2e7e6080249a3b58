"""The request that training halts: control.json in the recording, put in place by rename."""

import json
import math
import time
from collections.abc import Mapping
from pathlib import Path

from rlprobe.doctor.finding import Evidence
from rlprobe.guardian.policy import Decision
from rlprobe.recording.files import replace_bytes
from rlprobe.recording.layout import CONTROL
from rlprobe.recording.run import Run


def ask(root: Path, decision: Decision, run: Run) -> bool:
    """Ask the run to halt; False when somebody has asked already.

    Raises:
        OSError: the request cannot be written.
    """
    target = root / CONTROL
    if target.exists():
        return False
    replace_bytes(target, json.dumps(request(decision, run), ensure_ascii=True, allow_nan=False).encode())
    return True


def request(decision: Decision, run: Run) -> dict[str, object]:
    """The document: what is asked, why, on what evidence, and where to go back to."""
    found = decision.finding
    return {
        "request": "halt",
        "reason": decision.reason,
        "findings": [found.key, *(one.key for one in decision.witnesses)],
        "evidence": [_evidence(one) for one in found.evidence],
        "judged_step": decision.judged_step,
        "rollback_step": found.rollback_step,
        "rollback_checkpoint": checkpoint(run, found.rollback_step),
        "asked": round(time.time(), 3),
    }


def checkpoint(run: Run, step: int | None) -> str | None:
    """Path of the checkpoint that was saved at a step, where the run says it."""
    paths = [e.fields.get("path") for e in run.events if e.kind == "checkpoint" and step is not None and e.step == step]
    return next((path for path in reversed(paths) if isinstance(path, str)), None)


def _evidence(one: Evidence) -> Mapping[str, object]:
    return {
        "metric": one.metric,
        "before": _finite(one.before),
        "after": _finite(one.after),
        "unit": one.unit,
        "log_evidence": _finite(one.log_evidence),
    }


def _finite(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)
