"""Signatures of optimization: what real runs show first, then the borders at which a look-alike must stay silent."""

import numpy as np
import pytest

from rlprobe.doctor.engine import diagnose
from rlprobe.doctor.finding import Finding
from rlprobe.recording.run import Batch, FloatArray, MemoryFeed, Run
from tests.support.runs import columns_run, course, real_run

ROWS = 80


def _found(run: Run, id: str) -> tuple[Finding, ...]:
    return tuple(one for one in diagnose(run).findings if one.id == id)


def _alarms(run: Run, id: str) -> tuple[Finding, ...]:
    return tuple(one for one in _found(run, id) if one.severity != "info")


def _flat(level: float, noise: float = 0.0, seed: int = 0) -> FloatArray:
    return course(level, level, ROWS, noise=noise, seed=seed)


def _logged(**columns: FloatArray) -> Run:
    """A run in which NaN and infinities count as logged."""
    masks = {name: (values, np.ones(len(values), dtype=bool)) for name, values in columns.items()}
    return Run(MemoryFeed("memory", [Batch(steps=np.arange(ROWS), columns=masks)]))


def _broken(at: slice | list[int], value: float, seed: int = 0) -> FloatArray:
    values = _flat(1.0, 0.1, seed)
    values[at] = value
    return values


@pytest.mark.parametrize(
    ("name", "id", "earliest", "latest"),
    [
        ("coati-04", "NUMERIC_NAN", 78, 78),
        ("coati-08", "NUMERIC_NAN", 4, 4),
        ("coati-10", "NUMERIC_NAN", 282, 282),
        ("coati-18", "NUMERIC_NAN", 2, 2),
        ("coati-20", "NUMERIC_NAN", 1, 3),
        ("verl-02", "GRAD_PATHOLOGY", 33, 41),
        ("coati-02", "VALUE_DIVERGENCE", 5, 20),
        ("coati-04", "VALUE_DIVERGENCE", 10, 25),
        ("coati-14", "VALUE_DIVERGENCE", 500, 900),
        ("coati-18", "VALUE_DIVERGENCE", 1, 20),
        ("coati-20", "VALUE_DIVERGENCE", 1, 20),
        ("coati-24", "VALUE_DIVERGENCE", 80, 130),
        ("coati-12", "ZERO_GRADIENT", 1, 1),
        ("verl-b06", "ZERO_GRADIENT", 1, 1),
        ("coati-18", "NO_WEIGHT_UPDATE", 1, 2),
    ],
)
def test_a_real_failure_is_named_near_where_it_began(name: str, id: str, earliest: int, latest: int) -> None:
    onsets = [one.onset_step for one in _alarms(real_run(name), id)]
    assert any(earliest <= onset <= latest for onset in onsets), onsets


@pytest.mark.parametrize("name", ["coati-16", "coati-26", "dschat-01", "verl-b07", "verl-b08", "verl-b09"])
def test_a_real_critic_that_learned_is_left_alone(name: str) -> None:
    assert not _found(real_run(name), "VALUE_DIVERGENCE")


@pytest.mark.parametrize("name", ["skyrl-01", "skyrl-02", "verl-13", "unsloth-02", "custom-02", "unsloth-10"])
def test_real_gradients_that_are_large_or_uneven_are_left_alone(name: str) -> None:
    assert not _found(real_run(name), "GRAD_PATHOLOGY")


def test_one_skipped_overflow_is_taken_back_and_a_poisoned_run_is_critical() -> None:
    (skipped,) = _found(_logged(grad_norm=_broken([3], np.inf)), "NUMERIC_NAN")
    (poisoned,) = _found(_logged(grad_norm=_broken(slice(40, None), np.nan)), "NUMERIC_NAN")
    assert (skipped.severity, skipped.status) == ("info", "recovered")
    assert (poisoned.severity, poisoned.onset_step) == ("critical", 40)


def test_the_metric_that_turned_first_gives_the_name() -> None:
    late, early = _broken(slice(42, None), np.nan), _broken(slice(40, None), np.inf)
    found = _found(_logged(loss=late, ratio_max=early, grad_norm=late), "NUMERIC_NAN")
    assert [one.subject for one in found] == ["ratio_max"]


def test_a_column_that_was_never_a_number_is_no_failure_unless_it_is_the_loss() -> None:
    undefined = np.full(ROWS, np.nan)
    assert not _found(_logged(kl_mean=undefined, loss=_flat(0.1)), "NUMERIC_NAN")
    assert _alarms(_logged(kl_mean=_flat(0.1), loss=undefined), "NUMERIC_NAN")


def test_a_loss_that_was_never_a_number_broke_in_the_first_row() -> None:
    (one,) = _alarms(_logged(loss=_flat(np.nan), reward_mean=_flat(0.3, 0.02)), "NUMERIC_NAN")
    assert (one.onset_step, one.detected_step, one.severity) == (0, 2, "critical")


def test_single_gradient_spikes_heal_and_frequent_ones_do_not() -> None:
    calm = _flat(1.0, 0.1)
    one, fading, many = calm.copy(), calm.copy(), calm.copy()
    one[30] = 40.0
    fading[30:38] = 100.0 ** (0.9 ** np.arange(8.0))
    many[30::8] = 40.0
    assert not _found(columns_run({"grad_norm": one}), "GRAD_PATHOLOGY")
    assert not _found(columns_run({"grad_norm": fading}), "GRAD_PATHOLOGY")
    assert _alarms(columns_run({"grad_norm": many}), "GRAD_PATHOLOGY")


def test_a_gradient_that_grows_with_the_reward_is_learning() -> None:
    surge = course(0.1, 3.0, ROWS, noise=0.01)
    rising, flat = course(0.1, 0.9, ROWS, noise=0.02), _flat(0.3, 0.02)
    assert not _alarms(columns_run({"grad_norm": surge, "reward_mean": rising}), "GRAD_PATHOLOGY")
    assert _alarms(columns_run({"grad_norm": surge, "reward_mean": flat}), "GRAD_PATHOLOGY")


def _alternating(ordinary: float, silent: float, *, told_every: int = 1) -> tuple[FloatArray, FloatArray]:
    """Norms of updates of which two in five have no reward spread, and that fraction, told every so many updates."""
    rng = np.random.default_rng(3)
    batches = rng.random(ROWS // told_every) < 0.4
    zero = np.repeat(batches, told_every)
    norm = np.where(zero, silent, ordinary) * rng.lognormal(0.0, 0.7, ROWS)
    fraction = np.where(np.arange(ROWS) % told_every == 0, zero.astype(np.float64), np.nan)
    return norm, fraction


@pytest.mark.parametrize("told_every", [1, 2])
def test_updates_between_silent_ones_are_no_spikes_and_no_surge(told_every: int) -> None:
    norm, zero = _alternating(0.5, 0.005, told_every=told_every)
    norm[:4], zero[:4] = 0.003, np.where(np.isnan(zero[:4]), np.nan, 1.0)
    flat = _flat(0.5, 0.05)
    columns = {"grad_norm": norm, "zero_variance_group_fraction": zero, "reward_mean": flat}
    assert not _found(columns_run(columns), "GRAD_PATHOLOGY")


def test_spikes_among_updates_with_a_reward_and_a_kl_term_that_runs_away_without_one_are_told() -> None:
    norm, zero = _alternating(0.5, 0.005)
    spiking = norm.copy()
    spiking[np.flatnonzero(zero == 0)[10::4]] = 40.0
    alone = np.concatenate([norm[:40], course(5.0, 200.0, ROWS - 40)])
    dead = np.concatenate([zero[:40], np.ones(ROWS - 40)])
    flat = _flat(0.5, 0.05)
    for columns in (
        {"grad_norm": spiking, "zero_variance_group_fraction": zero},
        {"grad_norm": alone, "zero_variance_group_fraction": dead},
    ):
        assert _alarms(columns_run({**columns, "reward_mean": flat}), "GRAD_PATHOLOGY")


def test_where_every_update_is_silent_the_norm_is_still_judged() -> None:
    norm = np.concatenate([_flat(0.1, 0.01)[:40], course(2.0, 50.0, ROWS - 40)])
    columns = {"grad_norm": norm, "zero_variance_group_fraction": np.ones(ROWS), "reward_mean": _flat(0.0)}
    assert _alarms(columns_run(columns), "GRAD_PATHOLOGY")


def test_a_kl_penalty_that_carries_the_value_away_is_not_the_critics_fault() -> None:
    reward, gone = _flat(0.5, 0.02), course(0.0, -60.0, ROWS)
    critic = {"value_mean": gone, "reward_mean": reward}
    assert _alarms(columns_run(critic), "VALUE_DIVERGENCE")
    assert not _found(columns_run({**critic, "reward_with_kl_mean": gone}), "VALUE_DIVERGENCE")


def test_a_zero_gradient_needs_many_rows_and_an_unsolved_task() -> None:
    norm = _flat(0.3, 0.02)
    norm[40:54] = 0.0
    assert not _found(columns_run({"grad_norm": norm, "reward_mean": _flat(0.3, 0.02)}), "ZERO_GRADIENT")
    norm[40:] = 0.0
    (one,) = _alarms(columns_run({"grad_norm": norm, "reward_mean": _flat(0.3, 0.02)}), "ZERO_GRADIENT")
    assert (one.onset_step, one.severity) == (40, "critical")
    solved = np.minimum(1.0, course(0.0, 2.5, ROWS))
    assert not _found(columns_run({"grad_norm": norm, "reward_mean": solved}), "ZERO_GRADIENT")


def test_a_norm_that_nobody_filled_is_no_zero_gradient_where_the_policy_moves() -> None:
    unfilled = {"grad_norm": _flat(0.0), "reward_mean": _flat(0.3, 0.02)}

    (one,) = _alarms(columns_run({**unfilled, "entropy_mean": _flat(0.8, 0.02)}), "ZERO_GRADIENT")
    assert (one.onset_step, one.severity) == (0, "critical")
    assert not _found(columns_run({**unfilled, "entropy_mean": course(0.8, 0.4, ROWS, noise=0.02)}), "ZERO_GRADIENT")


def test_a_loss_of_zero_with_a_living_gradient_is_left_alone() -> None:
    assert not _found(columns_run({"loss": _flat(0.0), "grad_norm": _flat(0.3, 0.02)}), "ZERO_GRADIENT")


def test_weights_that_stand_still_are_told_and_a_gradient_of_zero_is_the_other_failure() -> None:
    still = {"weight_update_ratio": _flat(0.0), "reward_mean": _flat(0.3, 0.02)}
    assert _alarms(columns_run({**still, "grad_norm": _flat(0.3, 0.02)}), "NO_WEIGHT_UPDATE")
    assert not _found(columns_run({**still, "grad_norm": _flat(0.0)}), "NO_WEIGHT_UPDATE")


def test_a_schedule_may_warm_up_and_restart_but_not_jump() -> None:
    warm = np.concatenate([np.linspace(0.0, 1e-6, 10), np.linspace(1e-6, 1e-8, 35), np.linspace(1e-6, 1e-8, 35)])
    jump = warm.copy()
    jump[60:] = 1e-5
    assert not _found(columns_run({"learning_rate": warm}), "LR_ANOMALY")
    (one,) = _alarms(columns_run({"learning_rate": jump}), "LR_ANOMALY")
    assert one.onset_step == 60


def test_a_learning_rate_of_zero_and_steps_that_replace_the_weights_are_told() -> None:
    assert _alarms(columns_run({"learning_rate": _flat(0.0)}), "LR_ANOMALY")
    assert _alarms(columns_run({"weight_update_ratio": _flat(0.05)}), "LR_ANOMALY")
    assert not _found(columns_run({"weight_update_ratio": _flat(0.001)}), "LR_ANOMALY")
