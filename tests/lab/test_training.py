"""Healthy variants learn, every algorithm among them, and a run is a function of its arguments."""

import time

import numpy as np
import pytest

from rlprobe import lab
from rlprobe.lab.catalog import Variant
from rlprobe.recording.metrics import find
from rlprobe.recording.run import Run
from tests.support.lab_runs import each, trained

_DISPLAYED = {variant.name: variant for variant in lab.variants()}


def _ends(run: Run, metric: str) -> tuple[float, float]:
    """Mean of the first and of the last tenth of what was logged."""
    values = run.column(metric)[run.logged(metric)]
    count = max(len(values) // 10, 1)
    return float(values[:count].mean()), float(values[-count:].mean())


@pytest.mark.slow
@pytest.mark.parametrize("name", each(sorted(_DISPLAYED)))
def test_a_healthy_variant_learns_what_it_is_paid_for(name: str) -> None:
    run = trained(name).run
    metric = "preference_accuracy_fraction" if run.algorithm == "dpo" else "reward_mean"
    if name == "healthy-rescaled":
        metric = "accuracy_fraction"  # its reward is halved halfway
    first, last = _ends(run, metric)
    assert last - first > 0.15, (name, first, last)
    if run.algorithm != "dpo":
        first, last = _ends(run, "evaluation_score/heldout")
        assert last > first + 0.1, (name, first, last)


def test_the_variants_cover_every_algorithm() -> None:
    assert {variant.recipe.algorithm for variant in lab.variants()} == {
        "grpo", "dr_grpo", "rloo", "reinforce", "ppo", "dpo",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["healthy-ppo", "healthy-dpo", "memory-leak", "frozen-logger"])
def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(name: str) -> None:
    first, again, other = (list(lab.run_steps(name, steps=12, seed=seed)) for seed in (3, 3, 4))
    assert [record.metrics for record in first] == [record.metrics for record in again]
    assert [record.samples for record in first] == [record.samples for record in again]
    assert [record.metrics for record in first] != [record.metrics for record in other]


@pytest.mark.slow
@pytest.mark.parametrize("trial", each(entry.name for entry in (*lab.faults(), *lab.variants())))
def test_every_metric_is_canonical_and_within_its_range(trial: str) -> None:
    run = trained(trial).run
    assert run.rows >= 1
    for name in run.metrics:
        metric = find(name)
        assert metric is not None, name
        values = run.column(name)[run.logged(name)]
        values = values[np.isfinite(values)]
        assert metric.low is None or (values >= metric.low - 1e-12).all(), name
        assert metric.high is None or (values <= metric.high + 1e-9).all(), name


def test_three_hundred_steps_cost_seconds_of_processor_time_not_minutes() -> None:
    started = time.process_time()
    list(lab.run_steps("healthy-grpo", steps=100, seed=0))
    assert time.process_time() - started < 60


def test_variants_and_faults_have_names_of_their_own_and_variants_say_they_are_healthy() -> None:
    names = [entry.name for entry in (*lab.faults(), *lab.variants())]
    assert len(set(names)) == len(names)
    assert all(isinstance(v, Variant) and v.name.startswith("healthy-") for v in lab.variants())
    assert all(fault.signatures and not fault.name.startswith("healthy") for fault in lab.faults())
