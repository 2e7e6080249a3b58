"""The source lint: each place is told with file and line, and never more than a warning."""

import sys
import textwrap
from types import ModuleType

import pytest

from rlprobe import verify
from rlprobe.verifier.measure.source import EVERY_SLOT, pieces
from rlprobe.verifier.pipeline import Pipeline
from rlprobe.verifier.subject import Subject


@pytest.fixture
def written(tmp_path, request):
    """A function that writes a module, loads it and gives its functions by name."""

    def write(text: str) -> dict[str, object]:
        path = tmp_path / "my_loss.py"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        module = ModuleType("my_loss")
        module.__file__ = str(path)
        sys.modules["my_loss"] = module
        request.addfinalizer(lambda: sys.modules.pop("my_loss", None))
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
        return vars(module)

    return write


CASES = [
    ("V801", "loss", "ratio = (lp - old).exp(); mean = ratio.mean().item(); return mean * adv.sum()", "item"),
    ("V801", "loss", "return float((lp * adv).sum())", "float"),
    ("V801", "loss", "lp = lp.data; return -(lp * adv).sum()", "data"),
    ("V802", "loss", "with torch.no_grad():\n        total = (lp * adv).sum()\n    return -total", "no_grad"),
    ("V803", "loss", "adv -= adv.mean(); return -(lp * adv).sum()", "adv"),
    ("V803", "loss", "mask[:, 0] = 0; return -(lp * mask).sum()", "mask"),
    ("V803", "loss", "lp.mul_(2); return -(lp * adv).sum()", "mul_"),
    ("V806", "loss", "return lp.sum() if mode else lp.mean()", "mode"),
    ("V807", "loss", "keep = input_ids != pad_token_id; return -(lp * keep).sum()", "pad_token_id"),
    ("V809", "loss", "ref_model = model; return -(lp * ref_model(old)).sum()", "ref_model"),
    ("V811", "loss", "cache.append(1); return -(lp * adv).sum()", "cache"),
    ("V812", "loss", "return -(lp * adv).sum() + random.random()", "random"),
    ("V813", "loss", "p = lp.softmax(-1); return -(p.log() * adv).sum()", "log"),
    ("V814", "loss", "return -(lp * adv).sum()", "mask"),
]
HEAD = "def loss(lp, old, adv, mask, mode='mean', cache=[], input_ids=None, pad_token_id=None, model=None):\n    "


@pytest.mark.parametrize(("identity", "name", "body", "word"), CASES)
def test_a_place_is_told_with_its_file_and_line_and_only_warns(written, identity, name, body, word):
    loss = written(f"import random\n{HEAD}{body}\n")[name]

    (result,) = verify(Pipeline(loss=loss), only=identity).results

    assert result.status == "warn", result.outcome.statement
    assert result.where.rpartition(":")[0].endswith("my_loss.py")
    assert 2 <= int(result.where.rpartition(":")[2]) <= 5
    assert word in result.outcome.statement + result.outcome.got


@pytest.mark.parametrize(
    ("identity", "text"),
    [
        (
            "V804",
            """
            def reward(completions, answer, **kwargs):
                found = [text for text in completions if text]
                return [float(one == truth) for one, truth in zip(found, answer)]
            """,
        ),
        (
            "V805",
            """
            import re
            FORM = re.compile(r"<think>.*</think>")
            def reward(completions, **kwargs):
                return [float(bool(FORM.match(text))) for text in completions]
            """,
        ),
        (
            "V810",
            """
            def reward(completions, answer, **kwargs):
                try:
                    return [float(eval(text) == truth) for text, truth in zip(completions, answer)]
                except Exception:
                    return [0.0] * len(completions)
            """,
        ),
    ],
)
def test_a_place_in_a_reward_is_told(written, identity, text):
    reward = written(text)["reward"]

    (result,) = verify(Pipeline(reward=reward), only=identity).results

    assert result.status == "warn"
    assert "my_loss.py:" in result.where


@pytest.mark.parametrize("shape", ["rewards.view(group_size, -1)", "rewards.reshape((group_size, -1))"])
def test_groups_across_prompts_are_told_and_groups_of_one_prompt_are_not(written, shape):
    text = """
        def advantages(rewards, group_size):
            grouped = SHAPE
            return (grouped - grouped.mean()).reshape(-1)
        """

    bad = verify(Pipeline(advantages=written(text.replace("SHAPE", shape))["advantages"]), only="V808")
    right = text.replace("SHAPE", "rewards.reshape(-1, group_size)")
    good = verify(Pipeline(advantages=written(right)["advantages"]), only="V808")

    assert [one.status for one in (*bad.results, *good.results)] == ["warn", "pass"]


QUIET = """
    import re
    FORM = re.compile(r"<think>.*?</think>", re.DOTALL)

    def helper(values, mask):
        return (values * mask).sum() / mask.sum()

    def loss(lp, old, adv, mask, beta=0.1, mode="mean"):
        mask = mask.astype(lp.dtype)
        mask[:, 0] *= 1
        ratio = (lp - old) - beta
        total = helper(ratio * adv, mask) if mode == "mean" else ratio.sum()
        return total, {"ratio": float(ratio.mean()), "kl": (lp - old).mean().item()}

    def reward(completions, answer, **kwargs):
        found = [FORM.sub("", text) for text in completions]
        scores = []
        for one, truth in zip(found, answer):
            try:
                scores.append(float(int(one) == int(truth)))
            except ValueError:
                scores.append(0.0)
        return scores
    """


def test_ordinary_code_provokes_nothing(written):
    made = written(QUIET)

    report = verify(Pipeline(loss=made["loss"], reward=made["reward"]), only="source")

    assert [(one.id, one.outcome.statement) for one in report.warnings] == []
    assert report.count("pass") >= 10


def test_functions_that_are_called_are_read_and_no_function_is_run(written):
    made = written(QUIET + "\n    def loud(lp, old, adv, mask):\n        raise SystemExit('it was run')\n")

    seen = pieces(Subject(Pipeline(loss=made["loss"])), EVERY_SLOT)
    report = verify(Pipeline(loss=made["loud"]), only="source")

    assert [(one.function.__name__, one.own) for one in seen] == [("loss", True), ("helper", False)]
    assert not report.failures


def test_without_source_the_lint_says_so():
    report = verify(Pipeline(reward=len), only="V804")

    assert report.results[0].status == "not_checkable"


def test_a_file_that_is_no_longer_python_is_no_error(written, tmp_path):
    loss = written("def loss(lp, old, adv, mask):\n    return lp\n")["loss"]
    (tmp_path / "my_loss.py").write_text("def loss(:\n", encoding="utf-8")

    (result,) = verify(Pipeline(loss=loss), only="V801").results

    assert result.status == "not_checkable"


MODULES = """
    import torch

    class Loss(torch.nn.Module):
        def __init__(self, clip=0.2):
            super().__init__()
            self.clip = clip

        def forward(self, lp, old, adv, mask):
            ratio = torch.exp(lp - old)
            clipped = ratio.clamp(1 - self.clip, 1 + self.clip)
            return -(torch.min(ratio * adv[:, None], clipped * adv[:, None]) * mask).sum() / mask.sum()
    """


@pytest.mark.trl
@pytest.mark.parametrize(("old", "status"), [("", "pass"), ("* mask).sum() / mask.sum()", "warn")])
def test_a_torch_module_is_read_by_its_forward(written, old, status):
    text = MODULES.replace(old, ").mean()") if old else MODULES
    loss = written(text)["Loss"]()

    (result,) = verify(Pipeline(loss=loss), only="V814").results

    assert result.status == status, result.outcome.statement
    assert status == "pass" or result.outcome.statement.startswith("forward: mask")
