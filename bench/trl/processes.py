"""TRL in two processes on the CPU (gloo): what is recorded, whether training is the same, whether a halt stops both.

    python -m bench.trl.processes [KIND ...]

Needs the trl extra. torchrun starts the processes: `accelerate launch` does the same, but on a CPU only with MPI.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from tests.integrations.tiny_model import taught

from rlprobe import open_run

KINDS = ("grpo", "dpo", "online_dpo")
STEPS, LONG = 3, 200  # steps of a run; of one that is halted
_HOME = Path(tempfile.gettempdir()) / "rlprobe-bench"
_QUIET = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "CI": "1", "OMP_NUM_THREADS": "1"}


def launched(
    home: Path, run: str, folder: Path, kind: str, steps: int, *, halt: bool = False
) -> list[dict[str, object]]:
    """Train in two processes; what each told, by rank."""
    words = [str(home), run, str(folder / "out"), kind, str(steps), *(["halt"] if halt else [])]
    launcher = ["-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port", "0", "--standalone"]
    command = [sys.executable, *launcher, "-m", "tests.integrations.two_processes", *words]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **_QUIET}, check=False)
    found = sorted((folder / "out").glob("told-*.json"))
    if len(found) != 2:
        raise SystemExit(
            f"bench.trl.processes: expected a word of both ranks, got {len(found)}.\n{done.stderr[-3000:]}"
        )
    return [json.loads(path.read_bytes()) for path in found]


def told(kind: str, home: Path, folder: Path) -> Mapping[str, object]:
    """One kind of trainer: without a recorder, with one on every rank, and halted."""
    run_dir = folder / "run"
    without = launched(home, "-", folder / "bare", kind, STEPS)
    watched = launched(home, str(run_dir), folder / "watched", kind, STEPS)
    run = open_run(run_dir)
    samples = run.samples()
    ranks = np.asarray(samples.columns.get("rank", np.empty(0)))
    halted_dir = folder / "halted"
    halted_dir.mkdir()
    halted = launched(home, str(halted_dir), folder / "halted-out", kind, LONG, halt=True)
    return {
        "kind": kind,
        "identical": without == watched,
        "rows": run.rows,
        "samples by rank": [int((ranks == rank).sum()) for rank in (0, 1)],
        "distinct samples": len(
            {*zip(samples.columns["step"].tolist(), samples.columns["sample"].tolist(), strict=True)}
        ),  # type: ignore[attr-defined]  # arrays
        "times compared": bool(run.logged("rank_step_seconds_max").all()),
        "notes": list(run.reading.notes),
        "failed hooks": sum(event.kind == "bad_hook" for event in run.events),
        "halted after": [line["step"] for line in halted],
    }


def main(kinds: list[str]) -> None:
    """Print one line a kind."""
    home = taught(_HOME)
    for kind in kinds or KINDS:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(told(kind, home, Path(folder))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
