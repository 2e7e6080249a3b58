"""The runs that the report is looked at and measured with: trained in the lab, or made to be tiny, huge or hostile."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from rlprobe.lab import train
from rlprobe.opening import open_run
from rlprobe.recorder.recorder import Recorder
from rlprobe.recording.run import Event, Manifest, MemoryFeed, Run, batch_from_columns

HUGE_ROWS, HUGE_METRICS = 100_000, 40
SEED = 0
HUGE_NAMES = (
    "reward_mean",
    "reward_std_batch",
    "kl_mean",
    "entropy_mean",
    "grad_norm",
    "loss",
    "learning_rate",
    "completion_tokens_mean",
    "truncated_fraction",
    "clip_fraction",
    "step_seconds",
)
OWNED = "document.title='owned'"  # what a script would do, had it got out of its text
HOSTILE = (
    f'<script>{OWNED}</script><img src=x onerror="{OWNED}"></pre></script><!-- &lt;b&gt;',
    "\x1b[31mred\x1b[0m \x1b]8;;https://example.org\x07link\x1b]8;;\x07 \x00 bell, "
    "pay \u202eeerf si siht\u202c now, zero\u200bwidth",
    f'مرحبا بالعالم and שלום, z\u0335\u0321\u0327a\u0336l\u0337g\u0338o, lone \ud800, </style><svg onload="{OWNED}">',
)
MEGABYTE = "a" * (1 << 20)
SAMPLED = (1, 2, 59, 60)  # steps of the hostile run that have samples


def failing(folder: Path) -> Run:
    """A policy that is paid for length."""
    return _lab("length-hack", folder)


def healthy(folder: Path) -> Run:
    """GRPO on a task that is learned."""
    return _lab("healthy-grpo", folder)


def resumed(folder: Path) -> Run:
    """A run that resumes from the base weights half-way."""
    return _lab("bad-resume", folder)


def tiny(folder: Path) -> Run:
    """One row, no samples."""
    with Recorder(folder / "tiny", algorithm="grpo") as recorder:
        recorder.log_step(1, {"reward_mean": 0.25, "entropy_mean": 1.9, "kl_mean": 0.0})
    return open_run(folder / "tiny")


def huge(folder: Path) -> Run:
    """100,000 rows of 40 metrics: noise around slow curves, a spike of one row, an entropy that collapses late."""
    del folder
    random = np.random.default_rng(SEED)
    time = np.linspace(0, 1, HUGE_ROWS)
    columns = {}
    for place in range(HUGE_METRICS):
        name = HUGE_NAMES[place] if place < len(HUGE_NAMES) else f"user/metric_{place}"
        columns[name] = 1 + np.tanh(3 * time) + 0.1 * random.normal(size=HUGE_ROWS)
    columns["entropy_mean"] = np.where(time < 0.7, 1.5, 1.5 * np.exp(-60 * (time - 0.7))) * (
        1 + 0.03 * random.normal(size=HUGE_ROWS)
    )
    columns["kl_mean"] = 0.04 * time + 0.002 * np.abs(random.normal(size=HUGE_ROWS))
    columns["learning_rate"] = 1e-6 * np.minimum(1, 20 * time)
    columns["reward_mean"] = 0.5 + 0.05 * random.normal(size=HUGE_ROWS)
    columns["grad_norm"][61_803] = 900.0
    columns["truncated_fraction"] = np.clip(0.05 + 0.02 * random.normal(size=HUGE_ROWS), 0, 1)
    columns["clip_fraction"] = np.clip(0.02 + 0.01 * random.normal(size=HUGE_ROWS), 0, 1)
    events = tuple(Event(kind="checkpoint", step=step) for step in range(5_000, HUGE_ROWS, 5_000))
    manifest = Manifest(algorithm="grpo", framework="trl", settings={"learning_rate": 1e-6}, state="closed")
    batch = batch_from_columns(np.arange(HUGE_ROWS, dtype=np.int64), columns, manifest=manifest, events=events)
    return Run(MemoryFeed("runs/huge", [batch]))


def hostile(folder: Path) -> Run:
    """Texts, names and settings that try to leave their place; numbers that are none."""
    random = np.random.default_rng(SEED)
    settings = {"learning_rate": 1e-6, HOSTILE[0]: HOSTILE[1]}
    with Recorder(
        folder / "hostile", algorithm=HOSTILE[0], settings=settings, config={"note": HOSTILE[1]}, capture="all"
    ) as recorder:
        for step in range(1, 61):
            norm = float("nan") if step % 7 == 0 else float("inf") if step % 11 == 0 else 1.0
            row = {"reward_mean": 0.4 + 0.01 * random.normal(), "entropy_mean": 2.0 * 0.85**step, "grad_norm": norm}
            recorder.log_step(
                step, {**row, HOSTILE[0]: float(step), "big": 1e308 * (-1) ** step, "\u202eleft": 1.0 + step}
            )
            if step in SAMPLED:
                recorder.log_samples(step, [_hostile_sample(text) for text in (*HOSTILE, MEGABYTE)])
    return open_run(folder / "hostile")


def _hostile_sample(text: str) -> dict[str, object]:
    rewards = {f"reward/{HOSTILE[0]}": 1.0, "reward/format": float("-inf")}
    return {"group": "0", "prompt": HOSTILE[2], "completion": text, "reward": 1.0, "stop_reason": HOSTILE[0], **rewards}


def _lab(variant: str, folder: Path) -> Run:
    train(variant, folder / variant, steps=300, seed=SEED)
    return open_run(folder / variant)


RUNS: dict[str, Callable[[Path], Run]] = {
    "failing": failing,
    "healthy": healthy,
    "resumed": resumed,
    "tiny": tiny,
    "huge": huge,
    "hostile": hostile,
}
