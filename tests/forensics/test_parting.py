import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.forensics.alignment import Beside
from rlprobe.forensics.parting import (
    LEAST,
    OVERLAP,
    PRIOR,
    _contrast_variance,
    _contrasts,
    _Noise,
    parting,
    strength,
    threshold,
)
from tests.reference.contrasts import contrast, usual
from tests.support.strategies import noise

ROWS = 300


def pair(seed, phi, course=None):
    """Two courses of one run and two seeds."""
    shape = np.zeros(ROWS) if course is None else course
    return Beside(
        steps=np.arange(ROWS) * 2, ours=shape + noise(seed, ROWS, phi), theirs=shape + noise(seed + 999, ROWS, phi)
    )


def shifted(held, row, size):
    """The pair with the second run moved from a row on."""
    moved = held.theirs.copy()
    moved[row:] += size
    return Beside(steps=held.steps, ours=held.ours, theirs=moved)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), width=st.sampled_from([5, 10, 20]), data=st.data())
def test_contrasts_are_those_of_the_slow_twin(seed, width, data):
    gap = noise(seed, 160, 0.5)
    found = _contrasts(gap, np.zeros(160), width, _Noise(runs=((0.0, 0.5), (0.0, 0.2)), quantum=0.0))
    row = data.draw(st.integers(4 * width, 160 - 2 * width))
    place = int(np.searchsorted(found.rows, row))

    assert found.change[place] == pytest.approx(contrast(gap, row, width))
    seen = (row - 2 * width + 1) / (OVERLAP * width + 3.0)
    freedom = seen + PRIOR
    t = abs(contrast(gap, row, width)) / np.sqrt(usual(gap, row, width) * seen / freedom)
    z = np.sqrt(freedom * np.log1p(t * t / freedom)) * (8 * freedom + 1) / (8 * freedom + 3)
    assert found.z[place] in (0.0, pytest.approx(z, rel=1e-6))


@pytest.mark.parametrize("phi", [0.3, 0.6, 0.9])
def test_runs_of_two_seeds_do_not_part(phi):
    rise = 3 / (1 + np.exp(-np.linspace(-6, 6, ROWS)))
    strengths = [strength(pair(seed, phi, course)) for seed in range(12) for course in (None, rise)]

    assert max(strengths) < threshold(len(strengths), ROWS)


@pytest.mark.parametrize(("phi", "size"), [(0.3, 12.0), (0.6, 16.0), (0.9, 24.0)])
def test_a_lasting_change_is_told_at_its_row(phi, size):
    for seed in range(6):
        found = parting(shifted(pair(seed, phi), 180, size), least=LEAST)

        assert found is not None, seed
        assert abs(found.step - 360) <= 4
        assert found.interval[0] <= found.step <= found.interval[1]
        assert found.lasting
        assert found.theirs[1] - found.theirs[0] > size / 2 > abs(found.ours[1] - found.ours[0])


def test_the_noise_of_two_neighbouring_means_is_that_of_a_simulation():
    width, phi = 10, 0.7
    series = np.array([noise(seed, 2 * width + 20, phi)[20:] for seed in range(3000)])
    contrasts = series[:, width:].mean(axis=1) - series[:, :width].mean(axis=1)

    assert _contrast_variance(1.0, phi, width) == pytest.approx(float(contrasts.var()), rel=0.08)


def test_a_shock_that_decays_and_a_single_event_are_no_parting():
    held = pair(3, 0.3)
    shock = held.theirs.copy()
    shock[180:] += 12.0 * 0.8 ** np.arange(ROWS - 180)
    assert parting(Beside(steps=held.steps, ours=held.ours, theirs=shock), least=LEAST) is None

    rare = np.zeros(ROWS)
    rare[200] = 1 / 64
    assert parting(Beside(steps=held.steps, ours=np.zeros(ROWS), theirs=rare), least=LEAST) is None


def test_runs_of_one_seed_do_not_part_when_chance_drives_them_apart():
    course, one, other = np.linspace(0, 1, ROWS), noise(1, ROWS, 0.6), noise(2, ROWS, 0.6)
    ours, theirs = course + one, course + one
    theirs[120:] = (course + other)[120:]

    assert parting(Beside(steps=np.arange(ROWS), ours=ours, theirs=theirs), least=LEAST) is None


def test_a_change_that_comes_back_says_so():
    held = shifted(pair(5, 0.3), 120, 12.0)
    theirs = held.theirs.copy()
    theirs[220:] -= 12.0
    found = parting(Beside(steps=held.steps, ours=held.ours, theirs=theirs), least=LEAST)

    assert found is not None
    assert not found.lasting


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_units_do_not_matter(scale):
    held = shifted(pair(7, 0.3), 150, 8.0)
    scaled = Beside(steps=held.steps, ours=held.ours * scale, theirs=held.theirs * scale)

    assert strength(scaled) == pytest.approx(strength(held), rel=0.05)


@pytest.mark.parametrize("values", [np.zeros(ROWS), np.full(10, 0.5), np.empty(0)])
def test_what_is_constant_or_short_says_nothing(values):
    assert parting(Beside(steps=np.arange(len(values)), ours=values, theirs=values), least=0.0) is None


def test_a_long_run_is_compared_in_blocks_and_the_interval_covers_the_whole_block():
    ours, theirs = noise(1, 6000, 0.3), noise(2, 6000, 0.3)
    theirs[4000:] += 3.0
    pair = Beside(steps=np.arange(6000), ours=ours, theirs=theirs).condensed()
    found = parting(pair, least=LEAST)

    assert len(pair) == 500
    assert found.interval[0] <= 4000 <= found.interval[1]


def test_more_metrics_need_more_evidence():
    assert threshold(1, 100) == LEAST
    assert threshold(4000, 512) > LEAST
