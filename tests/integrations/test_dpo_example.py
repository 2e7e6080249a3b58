"""The DPO example, some steps of it."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "trl_dpo.py"

pytestmark = [pytest.mark.slow, pytest.mark.trl, pytest.mark.xdist_group("trl")]
pytest.importorskip("trl")


def test_dpo_with_too_large_a_rate_is_told(sorter: Path, tmp_path: Path) -> None:
    options = ["--model", str(sorter), "--run", str(tmp_path / "run"), "--steps", "6", "--cpu", "--fault"]
    done = subprocess.run([sys.executable, str(EXAMPLE), *options], capture_output=True, text=True, check=True)

    assert "LR_ANOMALY from step 1" in done.stdout
