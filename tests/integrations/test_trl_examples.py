"""The examples for TRL as a user runs them, some steps: silent when all is well, and the fault is named."""

import runpy
import sys
from functools import cache, partial
from pathlib import Path

import pytest

from rlprobe import open_run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

pytest.importorskip("trl")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.trl,
    pytest.mark.xdist_group("trl-examples"),  # they share the model, which takes some seconds to be made
    pytest.mark.filterwarnings("default"),  # the libraries' own
]


@pytest.fixture(scope="module", autouse=True)
def model_made_once(tmp_path_factory: pytest.TempPathFactory) -> object:
    """The examples' own tiny model, made by the first that asks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES))
        import tiny_model

        home = tmp_path_factory.mktemp("tiny")
        made = cache(partial(tiny_model.made, home))
        patch.setattr(tiny_model, "made", lambda _: made())
        yield


def told(
    name: str, options: list[str], run: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """What the example prints beside the trainer's log."""
    patch.setattr(sys, "argv", [name, "--run", str(run), *options])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return "\n".join(line for line in capsys.readouterr().out.splitlines() if not line.startswith("{"))


@pytest.mark.parametrize(
    ("name", "steps", "named"), [("trl_grpo.py", "25", "REWARD_CONSTANT"), ("trl_dpo.py", "25", "LR_ANOMALY")]
)
def test_an_example_is_silent_until_its_fault_is_on(
    name: str,
    steps: str,
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    healthy = told(name, ["--steps", steps], tmp_path / "healthy", monkeypatch, capsys)
    faulty = told(name, ["--steps", steps, "--fault"], tmp_path / "faulty", monkeypatch, capsys)

    assert healthy.split("\n")[0] == "healthy", healthy
    assert "warning" not in healthy
    assert open_run(tmp_path / "healthy").rows == int(steps)
    assert faulty.split("\n")[0] in ("attention", "failing")
    assert f" {named} from step 1 " in faulty.split("\n")[1], faulty
