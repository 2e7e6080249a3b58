"""Train each kind of trainer that this version of TRL has for three steps, twice, and tell what was recorded of it.

Run by `bench.trl.versions` in an environment of its own, where nothing is downloaded; prints one JSON object a kind.
"""

import json
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from tests.integrations.agreement import differences, outcome, same
from tests.integrations.tiny_model import taught
from tests.integrations.trl_kinds_lab import KINDS, grpo, nash_md, ppo, rloo, xpo

from rlprobe import attach, open_run
from rlprobe.recording.metrics import find

HOME = Path(tempfile.gettempdir()) / "rlprobe-bench"


ALL: Mapping[str, Callable[..., object]] = {
    **KINDS,
    "grpo": grpo,
    "rloo": rloo,
    "ppo": ppo,  # these three of trl 1.12 and older
    "xpo": xpo,
    "nash_md": nash_md,
}


def told(name: str, home: Path, folder: Path) -> dict[str, object]:
    """Train with and without a recorder, and compare both with each other and with the trainer's own log."""
    try:
        bare = ALL[name](home, folder / "bare")
    except ImportError:
        return {"kind": name, "absent": True}
    without = outcome(bare)  # type: ignore[arg-type]  # a trainer
    trainer = ALL[name](home, folder / "watched")
    with attach(trainer, folder / "run", capture="all"):
        with_recorder = outcome(trainer)  # type: ignore[arg-type]  # a trainer
    run = open_run(folder / "run")
    rows = {
        int(step): {metric: float(run.column(metric)[row]) for metric in run.metrics if run.logged(metric)[row]}
        for row, step in enumerate(run.steps)
    }
    samples = run.samples()
    return {
        "kind": name,
        "rows": run.rows,
        "metrics": sum(find(metric) is not None for metric in run.metrics),
        "samples": len(samples),
        "columns": sorted(samples.columns),
        "identical": same(without, with_recorder),
        "differences": differences(rows, trainer.state.log_history, run.algorithm),  # type: ignore[attr-defined]  # a trainer
        "hooks": [event.fields for event in run.events if event.kind == "bad_hook"],
    }


def main(names: list[str]) -> None:
    """Tell of the named kinds, or of all."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    home = taught(HOME)
    for name in names or ALL:
        with tempfile.TemporaryDirectory() as folder:
            try:
                line = told(name, home, Path(folder))
            except Exception as error:  # a kind that fails is a line of the table
                line = {
                    "kind": name,
                    "error": f"{type(error).__name__}: {error}",
                    "where": traceback.format_exc()[-2000:],
                }
        print(json.dumps(line, default=str), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
