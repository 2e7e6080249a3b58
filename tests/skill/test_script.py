"""The script that runs on its own: it holds on correct code, marks bugs, and skips nothing in silence."""

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from rlprobe.skill import bundle
from tests.docs.blocks import ROOT

SCRIPT = bundle.FOLDER / "scripts" / "verify_pipeline.py"
ADAPTERS = bundle.FOLDER / "scripts" / "adapters.py"


def _module(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPTED = _module(SCRIPT, "skill_script")
EXAMPLE = _module(ROOT / "examples" / "verify_pipeline.py", "example_pipeline")
PROBES = tuple(SCRIPTED.PROBES)


def _decode(text: str) -> str:
    head, mark, tail = text.partition("</think>")
    return tail if mark else "" if text.startswith("<think>") else head


def _correct() -> dict[str, object]:
    """Adapters that call the correct numpy pipeline of the examples."""
    return {
        "RIGHT": r"It is \boxed{42}",
        "WRONG": r"It is \boxed{41}",
        "ANSWER": "42",
        "REASONING": "extract",
        "reward": lambda completion, answer: EXAMPLE.reward([completion], [answer]),
        "advantages": EXAMPLE.advantages,
        "logprobs": EXAMPLE.logprobs,
        "loss": EXAMPLE.loss,
        "decode": _decode,
        "reference": lambda: ([-1.0, -2.0], [-1.0, -2.0], [-1.0, -2.0]),
    }


def _looks(adapters: dict[str, object], probe: str) -> list[str]:
    """Invariants of the lines that need a look."""
    return [invariant for holds, _, invariant in SCRIPTED.PROBES[probe](adapters) if holds is not True]


def _advantages_with_epsilon_one(rewards: np.ndarray, group_size: int) -> np.ndarray:
    groups = rewards.reshape(-1, group_size)
    return np.asarray((groups - groups.mean(1, keepdims=True)) / (groups.std(1, keepdims=True) + 1.0)).reshape(-1)


def _advantages_of_the_batch(rewards: np.ndarray, group_size: int) -> np.ndarray:
    return np.asarray((rewards - rewards.mean()) / (rewards.std() + 1e-4))


def _unclipped_side(logprobs: np.ndarray, old: np.ndarray, advantages: np.ndarray, mask: np.ndarray) -> float:
    ratio = np.exp(logprobs - old)
    weighted = np.maximum(ratio * advantages[:, None], np.clip(ratio, 0.8, 1.2) * advantages[:, None])
    return float(-(weighted * mask).sum() / mask.sum())


def _mask_forgotten(logprobs: np.ndarray, old: np.ndarray, advantages: np.ndarray, mask: np.ndarray) -> float:
    return float(EXAMPLE.loss(logprobs, old, advantages, np.ones_like(mask)))


BUGS: dict[str, tuple[str, Callable[..., object], str]] = {
    "log-prob with its sign turned": ("logprobs", lambda logits, ids: -EXAMPLE.logprobs(logits, ids), "at most 0"),
    "raw logits": (
        "logprobs",
        lambda logits, ids: np.take_along_axis(logits, ids[..., None], -1)[..., 0],
        "raw logits",
    ),
    "probabilities": (
        "logprobs",
        lambda logits, ids: np.exp(EXAMPLE.logprobs(logits, ids)),
        "looks like probabilities",
    ),
    "epsilon of one": ("advantages", _advantages_with_epsilon_one, "1 where a deviation divides"),
    "baseline of the batch": ("advantages", _advantages_of_the_batch, "as before"),
    "advantages of the wrong sign": ("advantages", EXAMPLE.wrong_advantages, "the order of the rewards"),
    "NaN of equal rewards": (
        "advantages",
        lambda r, g: EXAMPLE.advantages(r, g) / np.where(r.reshape(-1, g).std(1).repeat(g) > 0, 1.0, np.nan),
        "0, and finite",
    ),
    "loss that is ascended": ("loss", lambda *a: -EXAMPLE.loss(*a), "descent raises these"),
    "max for min": ("loss", _unclipped_side, "the clip stops profit"),
    "mask forgotten": ("loss", _mask_forgotten, "no gradient on it"),
    "decoder that blanks plain text": ("decode", lambda text: text.partition("</think>")[2], "word for word"),
    "decoder that keeps unclosed reasoning": ("decode", lambda text: text.rpartition("</think>")[2], "never closed"),
    "decoder that gives no text": (
        "decode",
        lambda text: ("" if "think" in text else text).encode().decode(),
        "closed",
    ),
    "reward that ties": ("reward", lambda completion, answer: 1.0, "a right completion scores higher"),
    "reward that minds line breaks": ("reward", lambda c, a: c == r"It is \boxed{42}", "the form does not cost it"),
    "reference that moves": ("reference", lambda: ([-1.0], [-1.0], [-1.1]), "as before, to the last digit"),
    "reference from elsewhere": ("reference", lambda: ([-1.0], [-1.2], [-1.2]), "equal before the first update"),
}


@pytest.fixture(autouse=True)
def _without_torch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "trl" not in request.keywords:
        monkeypatch.setitem(sys.modules, "torch", None)


@pytest.mark.parametrize("probe", PROBES)
def test_correct_code_needs_no_look(probe: str) -> None:
    assert _looks(_correct(), probe) == []


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_marked(name: str) -> None:
    slot, function, invariant = BUGS[name]

    looks = _looks(_correct() | {slot: function}, slot)

    assert any(invariant in line for line in looks), looks


@pytest.mark.parametrize("probe", PROBES)
def test_an_adapter_that_is_not_filled_in_or_not_there_is_told(probe: str, capsys: pytest.CaptureFixture[str]) -> None:
    template = _module(ADAPTERS, "template")
    without = {name: value for name, value in _correct().items() if name != probe}

    came = SCRIPTED._told(without | {probe: getattr(template, probe)}, probe), SCRIPTED._told(without, probe)

    assert came == ([None], [None])
    assert capsys.readouterr().out.count("?   NOT TRIED") == 2


@pytest.mark.trl
def test_a_loss_in_torch_is_judged_by_its_gradient_where_its_value_is_no_guide() -> None:
    torch = pytest.importorskip("torch")

    def cispo(logprobs, old, advantages, mask):  # type: ignore[no-untyped-def]  # torch has no types here
        weight = torch.clamp(torch.exp(logprobs - old), max=1.2).detach()
        return -(weight * advantages[:, None] * logprobs * mask).sum() / mask.sum()

    assert _looks({"loss": cispo}, "loss") == ["0: the clip stops profit"]  # CISPO caps the weight and never stops


def test_code_that_raises_is_told_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(rewards: object, group_size: int) -> object:
        raise ValueError("no such group")

    came = SCRIPTED._told(_correct() | {"advantages": broken}, "advantages")

    assert came == [False]
    assert f"?   raised ValueError in {__file__}:" in capsys.readouterr().out


def _run(*words: str, python: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *python, str(SCRIPT), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_runs_with_python_alone_and_ends_with_three_while_adapters_are_missing(tmp_path: Path) -> None:
    done = _run(python=("-I", "-S"))  # no site-packages: neither numpy nor torch nor rlprobe

    assert done.returncode == 3, done.stderr
    assert done.stdout.count("?   NOT TRIED") == len(PROBES)
    assert "0 hold, 0 need a look, 6 not tried" in done.stdout
    assert "With `pip install rlprobe`" in done.stdout


def test_a_file_of_adapters_written_with_lists_is_tried_without_any_library(tmp_path: Path) -> None:
    adapters = tmp_path / "mine.py"
    adapters.write_text(
        "import math\n"
        "def logprobs(logits, ids):\n"
        "    return [[t[i] - math.log(sum(map(math.exp, t))) for t, i in zip(*r)] for r in zip(logits, ids)]\n"
        "def decode(text):\n"
        "    return text.split('</think>')[1] if '</think>' in text else ''\n"
    )

    done = _run(str(adapters), python=("-I", "-S"))

    assert done.returncode == 1, done.stderr
    assert "log" in done.stdout
    assert [line for line in done.stdout.splitlines() if line.startswith("? ") and "NOT TRIED" not in line] == [
        "?   '  plain text, two\\nlines ' -> ''   must be: no markers: word for word"
    ]


def test_with_everything_filled_in_it_ends_with_zero_and_says_what_rlprobe_adds(tmp_path: Path) -> None:
    adapters = tmp_path / "mine.py"
    adapters.write_text(
        f"import sys\nsys.modules['torch'] = None\nsys.path.insert(0, {str(ROOT)!r})\n"  # torch takes seconds to import
        "from tests.skill.test_script import _correct\nglobals().update(_correct())\n"
    )

    done = _run(str(adapters))

    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 need a look, 0 not tried" in done.stdout
    assert " is here: `rlprobe verify TARGET`" in done.stdout


def test_wrong_usage_is_one_line(tmp_path: Path) -> None:
    done = _run(str(tmp_path / "absent.py"))

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Name a Python file with adapters" in done.stderr
    assert _run("--help").returncode == 0
