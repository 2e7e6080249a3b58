"""Faults around the training: time, memory, queues, checkpoints, the log itself."""

from collections.abc import Mapping
from dataclasses import replace

from rlprobe.lab.catalog import BASE, Fault
from rlprobe.lab.recipe import Seams, State

_FROZEN = ("entropy_mean", "kl_mean", "grad_norm", "policy_loss", "loss")
_LOST = ("entropy_mean", "kl_mean", "kl_max", "grad_norm", "policy_loss", "kl_loss", "loss")


def _kept_alive(state: State) -> float:
    """The step's activations stay referenced after it."""
    state.held.append(state.policy["middle"].copy())
    return 0.0


def _frozen(row: Mapping[str, float], state: State) -> Mapping[str, float]:
    """The logger's buffer is never cleared after 40 % of the run: some metrics are written from its first entry."""
    if state.step <= 0.4 * state.steps:
        return row
    for name in _FROZEN:
        state.notes.setdefault(name, row[name])
    return {**row, **{name: state.notes[name] for name in _FROZEN}}


def _lost(row: Mapping[str, float], state: State) -> Mapping[str, float]:
    """The process that logged the optimizer's metrics has died."""
    return row if state.step <= 0.6 * state.steps else {n: value for n, value in row.items() if n not in _LOST}


FAULTS: tuple[Fault, ...] = (
    Fault(
        name="cache-never-freed",
        description="The sampler attends to a cache that only grows: the same tokens cost ever more time.",
        signatures=("THROUGHPUT_ROT",),
        recipe=replace(BASE, seams=Seams(overhead=lambda state: 0.005 * state.step)),
    ),
    Fault(
        name="memory-leak",
        description="Every step's activations stay referenced.",
        signatures=("MEMORY_CREEP",),
        recipe=replace(BASE, seams=Seams(overhead=_kept_alive)),
    ),
    Fault(
        name="straggler",
        description="From 40 % of the run on one of four ranks is two and a half times slower.",
        signatures=("RANK_DIVERGENCE",),
        onset=0.4,
        recipe=replace(
            BASE, ranks=4, seams=Seams(straggler=lambda state: 1.0 if state.step <= 0.4 * state.steps else 2.5)
        ),
    ),
    Fault(
        name="stale-queue",
        description="The trainer falls behind its sample queue: samples come from ever older policies.",
        signatures=("STALENESS",),
        recipe=replace(
            BASE, asynchronous=True, learning_rate=4e-3, seams=Seams(lag=lambda state: min(state.step // 6, 48))
        ),
    ),
    Fault(
        name="bad-resume",
        description="Halfway the run resumes from the base weights, with a fresh optimizer.",
        signatures=("RESUME_DISCONTINUITY",),
        onset=0.5,
        recipe=replace(BASE, resume=0.5, keep_optimizer=False, seams=Seams(restored=lambda state: state.start)),
    ),
    Fault(
        name="frozen-logger",
        description="The logger writes some metrics from a buffer that is never cleared.",
        signatures=("METRIC_GAP",),
        onset=0.4,
        recipe=replace(BASE, seams=Seams(logged=_frozen)),
    ),
    Fault(
        name="lost-logger",
        description="Some metrics stop at 60 % of the run while training goes on.",
        signatures=("METRIC_GAP",),
        onset=0.6,
        recipe=replace(BASE, seams=Seams(logged=_lost)),
    ),
)
