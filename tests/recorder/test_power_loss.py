"""The power fails at any moment: what was synced before is read back, and nothing that was never logged."""

import sys

import pytest

from tests.support.power import play


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.parametrize("seed", range(4))
def test_what_was_synced_outlives_a_power_loss(tmp_path, seed):
    assert play(seed, tmp_path) == 8
