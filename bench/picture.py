"""The README's diagnosis, from a run that really happened: `python -m bench.picture docs/diagnosis.svg`.

Trains the lab's length hack, diagnoses it and shows the first incident as a picture; `text()` is the same as text.
"""

import sys
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

from rlprobe.doctor.engine import diagnose
from rlprobe.doctor.finding import Diagnosis
from rlprobe.lab import train
from rlprobe.opening import open_run
from rlprobe.reports import terminal

FAULT, STEPS, SEED = "length-hack", 300, 0  # what `make demo` trains
SOURCE = "runs/demo"  # the folder that the page names


def main() -> None:
    """Write the picture to the path that was given."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/diagnosis.svg")
    target.write_text(terminal.svg(first_incident()), encoding="utf-8")
    print(f"{target}: {first_incident().findings[0].key}")


def text() -> str:
    """The same page as text, as wide as the picture."""
    return terminal.render(first_incident(), width=terminal.PICTURE_WIDTH, color=False)


@cache
def first_incident() -> Diagnosis:
    """The demo's diagnosis, cut to its verdict and the first incident: the whole page is longer than a screen."""
    with tempfile.TemporaryDirectory() as folder:
        train(FAULT, Path(folder) / "demo", steps=STEPS, seed=SEED)
        whole = diagnose(open_run(Path(folder) / "demo"))
    incident = whole.incidents[0]
    kept = tuple(finding for finding in whole.findings if finding.key in incident.members)
    return replace(whole, source=SOURCE, incidents=(incident,), findings=kept, reassurances=(), not_checked=())


if __name__ == "__main__":
    main()
