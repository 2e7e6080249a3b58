"""python -m bench.verifier.trl: unchanged TRL trainers must hold, trainers with one changed line must not."""

import os
import tempfile
import time
import warnings
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from bench.verifier.trl_sources import CORRECT, MUTANTS, build, mutated
from rlprobe import verify


def main() -> None:
    """Print both tables."""
    warnings.filterwarnings("ignore")
    verify(build("grpo", {}, Path(tempfile.mkdtemp())), only="V301")  # imports are paid once, and not counted
    print("| unchanged trainer | CPU seconds | pass | fail | warn | not checkable | failing |")
    print("|---|---|---|---|---|---|---|")
    for name, (kind, settings) in CORRECT.items():
        trainer = build(kind, settings, Path(tempfile.mkdtemp()))
        started = time.process_time()
        report = verify(trainer)
        spent = time.process_time() - started
        counts = " | ".join(str(report.count(status)) for status in ("pass", "fail", "warn", "not_checkable"))
        print(f"| {name} | {spent:.2f} | {counts} | {', '.join(r.id for r in report.failures) or '-'} |")
    print("\n| changed line | found | first stage | failing |")
    print("|---|---|---|---|")
    for mutant in MUTANTS:
        report = verify(build(mutant.trainer, mutant.settings, Path(tempfile.mkdtemp()), of=mutated(mutant)))
        first = report.failures[0].stage if report.failures else "-"
        told = f"{first}{'' if first == mutant.stage else f' (expected {mutant.stage})'}"
        failing = ", ".join(result.id for result in report.failures)
        print(f"| {mutant.id} | {'yes' if report.failures else 'NO'} | {told} | {failing} |")


if __name__ == "__main__":
    main()
