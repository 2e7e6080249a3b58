"""False alarms on simulated healthy runs, a check at every step: `python -m bench.doctor.noise [--runs 2000]`."""

import argparse
import time
from collections import Counter

from bench.doctor.healthy import healthy_run
from rlprobe.doctor.calibration import wilson
from rlprobe.doctor.catalog import entries
from rlprobe.doctor.engine import diagnose

PHIS = (0.3, 0.6, 0.9)


def measure(runs: int, steps: int) -> dict[str, object]:
    """Print the fraction of runs that any warning or critical finding ever touched, live or afterwards."""
    print("\n## Healthy noise")
    quiet = {entry.signature.id for entry in entries() if entry.signature.severity == "info"}
    told: Counter[str] = Counter()
    flagged, started = Counter[float](), time.process_time()
    for seed in range(runs):
        phi = PHIS[seed % len(PHIS)]
        diagnosis = diagnose(healthy_run(seed, steps=steps, phi=phi))
        # A finding that recovered was told when it was there, so it counts: live and post-hoc reading agree.
        ids = {one.id for one in diagnosis.findings if one.id not in quiet}
        told.update(ids)
        flagged[phi] += bool(ids)
    count = sum(flagged.values())
    low, high = wilson(count, runs, digits=4)
    print(f"{runs} healthy runs of {steps} steps, {len(entries())} signatures, every step checked")
    print(f"flagged {count} = {count / runs:.4f}, 95 % interval {low:.4f} to {high:.4f}")
    print("by autocorrelation:", ", ".join(f"{phi}: {flagged[phi]}" for phi in PHIS))
    print("by signature:", ", ".join(f"{id} {n}" for id, n in told.most_common()) or "none")
    print(f"{(time.process_time() - started) / runs * 1000:.0f} ms of CPU a run, simulation included")
    return {"noise_runs": runs, "noise_flagged": count}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300, help="runs in all, spread over the autocorrelations")
    parser.add_argument("--steps", type=int, default=400)
    arguments = parser.parse_args()
    measure(arguments.runs, arguments.steps)
