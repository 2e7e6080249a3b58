"""Generators shared by the property tests."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

finite = st.floats(-1e6, 1e6, allow_nan=False, allow_subnormal=False)
series = hnp.arrays(np.float64, st.integers(0, 160), elements=finite)
flags = hnp.arrays(np.bool_, st.integers(0, 160))
cuts = st.lists(st.integers(0, 160), max_size=6)


def noise(seed: int, n: int, phi: float = 0.0) -> np.ndarray:
    """(n,) AR(1) noise of unit variance."""
    shocks = np.random.default_rng(seed).normal(size=n) * np.sqrt(1 - phi * phi)
    out = np.zeros(n)
    out[0] = shocks[0] / np.sqrt(1 - phi * phi)
    for i in range(1, n):
        out[i] = phi * out[i - 1] + shocks[i]
    return out
