"""The DPO example, some steps of it."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "trl_dpo.py"

pytest.importorskip("trl")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.trl,
    pytest.mark.xdist_group("trl"),
    pytest.mark.filterwarnings("default"),  # the libraries' own
]


def test_dpo_with_too_large_a_rate_is_told(
    sorter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--model", str(sorter), "--run", str(tmp_path / "run"), "--steps", "20", "--cpu", "--fault"]
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), *options])
    runpy.run_path(str(EXAMPLE), run_name="__main__")

    assert "LR_ANOMALY from step 1" in capsys.readouterr().out
