"""Train every case of the TRL tests and keep its scalar series as a fixture: numbers only, no texts.

    python -m bench.trl.series [NAME ...]

Needs the trl extra; writes tests/corpus/trl/NAME.jsonl.gz and index.json.
"""

import contextlib
import gzip
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "CI": "1"}

import torch
from tests.integrations.tiny_model import taught
from tests.integrations.trl_lab import CASES, build

from rlprobe import attach, open_run
from rlprobe.recording.metrics import find
from rlprobe.recording.run import Run

HOME = Path(__file__).resolve().parents[2] / "tests" / "corpus" / "trl"
DIGITS = 4  # significant digits kept
LIMIT = 50_000  # bytes of one file
LEFT_OUT = ("_seconds", "_bytes", "_per_second", "wall_time")  # clocks and memory of the machine that trained


def lines_of(run: Run) -> list[str]:
    """One JSON line a step, canonical metrics alone; NaN and infinities as Python's json writes them."""
    columns = {name: (run.column(name), run.logged(name)) for name in run.metrics if kept(name)}
    return [
        json.dumps(
            {"step": int(step)} | {name: short(values[row]) for name, (values, has) in columns.items() if has[row]}
        )
        for row, step in enumerate(run.steps)
    ]


def short(value: float) -> float:
    """The value to a few significant digits."""
    return float(f"{value:.{DIGITS}g}")


def kept(name: str) -> bool:
    """Whether a metric is known, and of the training rather than of the machine."""
    return find(name) is not None and not name.endswith(LEFT_OUT)


def series(name: str, model: Path, folder: Path) -> dict[str, object]:
    """Train one case and write its file; what the index says of it."""
    case = CASES[name]
    trainer = build(model, folder / "out", case)
    with attach(trainer, folder / "run", capture="scalars"), contextlib.suppress(RuntimeError):  # NaN weights
        trainer.train()
    run = open_run(folder / "run")
    packed = gzip.compress("\n".join(lines_of(run)).encode(), mtime=0)
    assert len(packed) <= LIMIT, f"{name}: expected at most {LIMIT} bytes, got {len(packed)}. Train fewer steps."
    (HOME / f"{name}.jsonl.gz").write_bytes(packed)
    settings = dict(run.manifest.settings)
    return {"algorithm": run.algorithm, "expected": case.expected, "rows": run.rows, "settings": settings}


def main(names: list[str]) -> None:
    """Write the named series, or all."""
    torch.set_num_threads(1)
    model = taught(Path(tempfile.gettempdir()) / "rlprobe-bench")
    HOME.mkdir(parents=True, exist_ok=True)
    path = HOME / "index.json"
    index = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in names or list(CASES):
        with tempfile.TemporaryDirectory() as folder:
            index[name] = series(name, model, Path(folder))
        print(name, index[name]["rows"], (HOME / f"{name}.jsonl.gz").stat().st_size)
        path.write_text(json.dumps(index, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
