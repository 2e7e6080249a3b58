"""Every kernel: any chunking gives the same numbers, and a slow twin agrees."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.doctor.evidence import halves, jump, level, onset, persistence, rolling, running
from tests.reference.jump import jump_evidence_slow
from tests.reference.level import level_evidence_slow
from tests.reference.onset import residuals_slow
from tests.reference.persistence import persistence_slow, straying_slow
from tests.support.spread import spread
from tests.support.strategies import cuts, flags, noise, series

KERNELS: dict[str, tuple[Callable[..., Any], Any]] = {
    "rolling_median": (partial(rolling.rolling_median, width=5), rolling.WindowState.start),
    "rolling_median_7": (partial(rolling.rolling_median, width=7), rolling.WindowState.start),
    "rolling_mean": (partial(rolling.rolling_mean, width=4), rolling.WindowState.start),
    "rolling_quantile": (partial(rolling.rolling_quantile, width=6, q=0.9), rolling.WindowState.start),
    "lagged": (partial(rolling.lagged, lag=3), rolling.WindowState.start),
    "running_max": (running.running_max, running.CarryState.start),
    "running_min": (running.running_min, running.CarryState.start),
    "baseline": (partial(running.baseline, count=15), running.BaselineState.start),
    "early_late": (partial(halves.early_late, part=0.2, minimum=20), halves.MomentsState.start),
    "persistence": (persistence.persistence, persistence.StepsState.start),
    "straying": (partial(persistence.straying, width=7), persistence.StepsState.start),
    "jump_evidence": (jump.jump_evidence, jump.JumpState.start),
}


def _chunks(n: int, at: list[int]) -> list[slice]:
    edges = [0, *sorted(min(cut, n) for cut in at), n]
    return [slice(low, high) for low, high in pairwise(edges)]


def _arrays(result: Any) -> list[np.ndarray]:
    if isinstance(result, np.ndarray):
        return [result]
    return [getattr(result, name) for name in result.__dataclass_fields__]


@pytest.mark.parametrize("name", spread(KERNELS, few=6))
@given(x=series, at=cuts)
@np.errstate(all="ignore")  # as the engine calls them: a number divided by one far smaller is clipped
def test_any_chunking_gives_the_same_numbers(name: str, x: np.ndarray, at: list[int]) -> None:
    kernel, start = KERNELS[name]
    whole, _ = kernel(x, start())
    state, parts = start(), []
    for chunk in _chunks(len(x), at):
        result, state = kernel(x[chunk], state)
        parts.append(_arrays(result))

    for i, array in enumerate(_arrays(whole)):
        joined = np.concatenate([part[i] for part in parts])
        np.testing.assert_allclose(joined, array, rtol=1e-7, atol=1e-6)


@given(mask=flags, at=cuts)
def test_level_evidence_and_counts_do_not_depend_on_chunks(mask: np.ndarray, at: list[int]) -> None:
    evidence, _ = level.level_evidence(mask, level.LevelState.start())
    count, _ = running.running_count(mask, running.CarryState.start())
    marks = np.where(mask, np.arange(len(mask)) * 2, -1)
    streak, _ = running.streak_start(marks, running.StreakState.start(), gap=2)
    bet, counted, streaked = level.LevelState.start(), running.CarryState.start(), running.StreakState.start()
    parts: list[list[np.ndarray]] = [[], [], []]
    for chunk in _chunks(len(mask), at):
        one, bet = level.level_evidence(mask[chunk], bet)
        two, counted = running.running_count(mask[chunk], counted)
        three, streaked = running.streak_start(marks[chunk], streaked, gap=2)
        for part, value in zip(parts, (one, two, three), strict=True):
            part.append(value)

    np.testing.assert_allclose(np.concatenate(parts[0]), evidence, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(np.concatenate(parts[1]), count)
    np.testing.assert_array_equal(np.concatenate(parts[2]), streak)


@given(mask=flags)
def test_level_evidence_equals_its_definition(mask: np.ndarray) -> None:
    evidence, _ = level.level_evidence(mask, level.LevelState.start())

    np.testing.assert_allclose(evidence, level_evidence_slow(mask.tolist()), rtol=1e-9, atol=1e-9)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(0, 200), phi=st.sampled_from([0.0, 0.6]))
def test_jump_evidence_equals_its_definition(seed: int, n: int, phi: float) -> None:
    x = noise(seed, max(n, 1), phi)[:n]
    x[n // 2 :] += 3.0
    fast, _ = jump.jump_evidence(x, jump.JumpState.start())

    np.testing.assert_allclose(fast, jump_evidence_slow(x), rtol=1e-6, atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(0, 60), phi=st.sampled_from([0.0, 0.6, 0.9]))
def test_persistence_and_what_it_adds_to_an_error_equal_their_definitions(seed: int, n: int, phi: float) -> None:
    x = noise(seed, max(n, 1), phi)[:n]
    found, _ = persistence.persistence(x, persistence.StepsState.start())
    added, _ = persistence.straying(x, persistence.StepsState.start(), width=9)

    np.testing.assert_allclose(found, persistence_slow(x.tolist()), atol=1e-4)
    np.testing.assert_allclose(added, straying_slow(x.tolist(), 9), rtol=2e-2, atol=0.02)


@pytest.mark.parametrize(
    ("phi", "low", "high"), [(0.0, 0.0, 0.02), (0.3, 0.15, 0.3), (0.6, 0.45, 0.6), (0.9, 0.75, 0.9)]
)
def test_persistence_is_found_where_it_is_and_nowhere_else(phi: float, low: float, high: float) -> None:
    found = [
        float(persistence.persistence(noise(s, 200, phi), persistence.StepsState.start())[0][-1]) for s in range(80)
    ]

    assert low <= np.mean(found) <= high


@pytest.mark.parametrize(("phi", "low"), [(0.0, 0.0), (0.6, 0.5), (0.9, 0.5)])
def test_means_of_noise_that_repeats_itself_stray_as_far_as_is_said(phi: float, low: float) -> None:
    runs = [noise(seed, 200, phi) for seed in range(150)]
    told = [float(persistence.straying(x, persistence.StepsState.start(), width=30)[0][-1]) for x in runs]
    true = np.sqrt(max(0.0, np.var([x[-30:].mean() for x in runs]) - 1 / 30))

    assert low * true <= np.mean(told) <= 1.1 * true + 0.05


@pytest.mark.parametrize("phi", [0.0, 0.5])
@pytest.mark.parametrize(("shape", "design"), [("step", 0), ("ramp", 1)])
def test_onset_residuals_equal_one_fit_a_candidate(shape: str, design: int, phi: float) -> None:
    x = noise(3, 60)
    t = np.arange(60.0)
    k = np.arange(onset.EDGE, 60 - onset.EDGE)
    designs = ((t[None, :] >= k[:, None]).astype(float), np.maximum(0.0, t[None, :] - k[:, None]))

    fast = onset._residual_sums(x, designs[design], phi)

    np.testing.assert_allclose(fast, residuals_slow(x, shape, phi), rtol=1e-8)


@pytest.mark.parametrize("phi", [0.3, 0.6])
def test_onset_finds_a_step_and_a_ramp_within_a_few_rows(phi: float) -> None:
    errors = {"step": [], "ramp": []}
    inside = 0
    for seed in range(30):
        base = 0.2 * noise(seed, 160, phi)
        step, ramp = base.copy(), base.copy()
        step[100:] += 1.2
        ramp += 0.05 * np.maximum(0.0, np.arange(160) - 100)
        for name, x in (("step", step), ("ramp", ramp)):
            found = onset.onset(x)
            errors[name].append(abs(found.index - 100))
            inside += found.low <= 100 <= found.high

    assert np.median(errors["step"]) <= 1
    assert np.median(errors["ramp"]) <= 6
    assert inside >= 50


@pytest.mark.parametrize("x", [np.empty(0), np.ones(1), np.ones(200), np.zeros(9)])
def test_onset_of_a_constant_or_short_series_is_its_start(x: np.ndarray) -> None:
    assert onset.onset(x).shape == "start"


@pytest.mark.slow
@pytest.mark.parametrize("phi", [0.0, 0.3, 0.6, 0.9])
def test_the_jump_arm_keeps_its_false_alarm_rate_under_a_look_at_every_row(phi: float) -> None:
    alarms = sum(
        bool((jump.jump_evidence(noise(seed, 400, phi), jump.JumpState.start())[0] > np.log(400)).any())
        for seed in range(400)
    )

    assert alarms <= 4


def test_a_baseline_is_unknown_until_there_are_enough_rows_and_then_stands() -> None:
    x = np.array([1.0, 2.0, 3.0, 100.0, 200.0])
    found, _ = running.baseline(x, running.BaselineState.start(), count=3)

    np.testing.assert_array_equal(found.level, [np.nan, np.nan, 2.0, 2.0, 2.0])
