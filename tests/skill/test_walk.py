"""The guide's walk, command by command, on a pipeline with three faults: it ends only when all three are gone."""

import json
from pathlib import Path

import pytest

from rlprobe.cli import main

PIPELINE = """
import numpy as np
from rlprobe import Pipeline


def advantages(rewards, group_size):
    groups = rewards.reshape(-1, group_size)
    centred = groups - groups.mean(axis=1, keepdims=True)
    return (centred / (groups.std(axis=1, ddof=1, keepdims=True) + EPSILON)).reshape(-1)


def logprobs(logits, ids):
    chosen = np.take_along_axis(logits, ids[..., None], axis=-1)[..., 0]
    top = logits.max(axis=-1)
    normaliser = top + np.log(np.exp(logits - top[..., None]).sum(axis=-1))
    return LOGPROB


def decode(text):
    head, mark, tail = text.partition("</think>")
    if mark:
        return tail
    return "" if text.startswith("<think>") else PLAIN


def make():
    return Pipeline(
        advantages=advantages, logprobs=logprobs, decode=decode, declare={"algorithm": "grpo", "reasoning": "extract"}
    )
"""
RIGHT = {"EPSILON": "1e-4", "LOGPROB": "chosen - normaliser", "PLAIN": "text"}
WRONG = {"EPSILON": "1.0", "LOGPROB": "normaliser - chosen", "PLAIN": '""'}
REPAIRS = {
    "advantages": "EPSILON",
    "logprobs": "LOGPROB",
    "decode": "PLAIN",
}  # the place that a stage's finding leads to
ONLY = ("--only", "advantages,logprobs,decode")


@pytest.mark.slow
def test_the_walk_ends_when_all_three_faults_are_gone_and_moves_one_branch_at_a_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, report, branches = (tmp_path / name for name in ("faulty_pipeline.py", "report.json", "branches.json"))
    target, places = f"{path}::make", dict(WRONG)

    def write() -> None:
        text = PIPELINE
        for name, code in places.items():
            text = text.replace(name, code)
        path.write_text(text)

    def verify(*words: str) -> tuple[int, str]:
        code = main(["verify", target, *words])
        return code, capsys.readouterr().out

    write()
    met = []
    for _ in range(len(WRONG)):
        code, told = verify(*ONLY, "--json")
        failing = [check for check in json.loads(told)["checks"] if check["status"] == "fail"]
        assert code == 1
        assert failing[0]["where"].startswith(str(path))
        met.append(failing[0]["stage"])
        report.write_text(told)
        verify("--snapshot", str(branches))
        place = REPAIRS[failing[0]["stage"]]
        places[place] = RIGHT[place]
        write()
        _, told = verify(*ONLY, "--json", "--diff", str(report))
        change = json.loads(told)["change"]
        assert failing[0]["id"] in change["fixed"]
        assert change["new"] == []
        moved, told = verify("--against", str(branches))
        assert (moved == 1) == (failing[0]["stage"] != "logprobs")  # a snapshot holds rewards, advantages and texts
        assert ("advantages/" in told) == (failing[0]["stage"] == "advantages")
        assert ("decode/" in told) == (failing[0]["stage"] == "decode")

    assert met == ["advantages", "logprobs", "decode"]
    assert verify(*ONLY, "--json")[0] == 0
    assert places == RIGHT
