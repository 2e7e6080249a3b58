"""What recording a TRL trainer costs: CPU time inside each hook, and the whole against a run without a recorder.

    python -m bench.trl.overhead [--steps 40] [--long] [--json FILE]

Needs the trl extra. `--long` generates 256 tokens for 64 samples a step, where work that grows with tokens shows.
CPU time is told, since wall time on a shared machine is not repeatable; the writer's thread is in the total alone.
"""

import argparse
import contextlib
import json
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "CI": "1"}

import torch
from tests.integrations.tiny_model import taught
from tests.integrations.trl_lab import CASES, Case, Trainer, build, mask_eos

from rlprobe.integrations import trl
from rlprobe.integrations.guard import HookGuard
from rlprobe.recorder.sampling import CAPTURES

WARM_UP = 3  # steps that are not counted
ROUNDS = 3  # alternating runs, of which the cheapest counts
PARTS: Mapping[str, str] = {
    "before reward function": "rewards",
    "after reward function": "rewards",
    "before _calculate_rewards": "rewards",
    "after _calculate_rewards": "rewards",
    "after _generate_and_score_completions": "rollout: texts, advantages",
    "after _compute_loss": "loss: tokens reduced",
    "before clip_grad_norm_": "gradients",
    "after clip_grad_norm_": "gradients",
    "on_pre_optimizer_step": "weights",
    "on_optimizer_step": "weights",
    "on_log": "the trainer's own metrics",
    "on_step_end": "row and samples handed over",
    "halt": "halt looked for",
    "opening the recording": "opening, once",
    "before train": "opening, once",
    "on_train_begin": "opening, once",
    "finish": "closing, once",
    "on_train_end": "closing, once",
}


class TimedGuard(HookGuard):
    """A guard that adds up the CPU time of the training thread inside each hook."""

    spent: Mapping[str, float] = defaultdict(float)

    def __call__(self, hook: str) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]  # any context manager serves
        return self._timed(hook, super().__call__(hook))

    @contextlib.contextmanager
    def _timed(self, hook: str, inner: contextlib.AbstractContextManager[None]) -> Iterator[None]:
        started = time.thread_time()
        try:
            with inner:
                yield
        finally:
            TimedGuard.spent[PARTS.get(hook, "other hooks")] += time.thread_time() - started  # type: ignore[index]  # a defaultdict


def long_case() -> tuple[Case, Mapping[str, object]]:
    """Completions of 256 tokens, 64 a step."""
    settings = {"per_device_train_batch_size": 64, "max_completion_length": 256}
    return Case(sabotage=mask_eos), settings


def run(make: Callable[[Path], Trainer], capture: str | None) -> tuple[float, Mapping[str, float]]:
    """CPU seconds of the whole process and, by part, inside the hooks."""
    TimedGuard.spent = defaultdict(float)
    with tempfile.TemporaryDirectory() as folder:
        trainer = make(Path(folder) / "out")
        probe = None if capture is None else trl.attach(trainer, Path(folder) / "run", capture=capture)
        started = time.process_time()
        with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):  # the trainer prints its log
            trainer.train()
        if probe is not None:
            probe.close()
        return time.process_time() - started, dict(TimedGuard.spent)


def measure(steps: int, *, long: bool, home: Path) -> dict[str, dict[str, float]]:
    """Milliseconds a step: capture -> part -> cost, with "whole run" and "ratio" beside."""
    case, settings = long_case() if long else (CASES["healthy"], {})

    def make(count: int) -> Callable[[Path], Trainer]:
        return lambda out: build(home, out, case, max_steps=count, **settings)

    run(make(WARM_UP), "all")
    whole: dict[str | None, float] = {}
    parts: dict[str, Mapping[str, float]] = {}
    for _ in range(ROUNDS):
        for capture in (None, *CAPTURES):
            seconds, spent = run(make(steps), capture)
            if seconds < whole.get(capture, float("inf")):
                whole[capture] = seconds
                parts[str(capture)] = spent
    table: dict[str, dict[str, float]] = {"none": {"whole run": 1e3 * whole[None] / steps}}
    for capture in CAPTURES:
        table[capture] = {name: 1e3 * seconds / steps for name, seconds in parts[capture].items()}
        table[capture]["inside hooks"] = sum(table[capture].values())
        table[capture]["whole run"] = 1e3 * whole[capture] / steps
        table[capture]["ratio"] = whole[capture] / whole[None]
    return table


def show(table: Mapping[str, Mapping[str, float]]) -> None:
    """Print parts as rows, captures as columns."""
    names = [*dict.fromkeys(PARTS.values()), "other hooks", "inside hooks", "whole run", "ratio"]
    print(f"{'ms of CPU a step':32s}" + "".join(f"{capture:>10s}" for capture in table))
    for name in names:
        cells = (f"{row[name]:10.2f}" if name in row else f"{'':10s}" for row in table.values())
        print(f"{name:32s}" + "".join(cells))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    trl.HookGuard = TimedGuard
    home = taught(Path(tempfile.gettempdir()) / "rlprobe-bench")
    table = measure(arguments.steps, long=arguments.long, home=home)
    show(table)
    if arguments.json:
        arguments.json.write_text(json.dumps(table, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
