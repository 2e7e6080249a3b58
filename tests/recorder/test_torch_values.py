"""Scalars as torch makes them."""

import numpy as np
import pytest

from rlprobe import Recorder
from tests.support.disasters import opened


@pytest.mark.trl
def test_every_kind_of_torch_scalar_is_kept(tmp_path):
    torch = pytest.importorskip("torch")
    kinds = {str(kind): torch.tensor(1.5, dtype=kind) for kind in (torch.float16, torch.bfloat16, torch.float64)}
    metrics = {
        **kinds,
        "trained": torch.tensor(2.5, requires_grad=True) * 2,
        "integer": torch.tensor(7),
        "boolean": torch.tensor(True),
        "one": torch.tensor([[0.25]]),
        "nan": torch.tensor(float("nan")),
        "several": torch.zeros(3),
    }
    with Recorder(tmp_path / "run") as recorder:
        recorder.log_step(0, metrics)
    run = opened(tmp_path / "run")

    assert {name: run.column(name)[0] for name in kinds} == dict.fromkeys(kinds, 1.5)
    assert [run.column(name)[0] for name in ("trained", "integer", "boolean", "one")] == [5.0, 7.0, 1.0, 0.25]
    assert np.isnan(run.column("nan")[0])
    assert "several" not in run.metrics or not run.logged("several").any()
    assert run.reading.bad_values == 1
