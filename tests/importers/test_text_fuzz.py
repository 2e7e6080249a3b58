"""Any bytes in any text format: read, or refused in one line, and what was read adds up."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.opening import UnreadableSource, open_run

_EXAMPLES = int(os.environ.get("RLPROBE_FUZZ_EXAMPLES", "120"))  # of each kind; thousands for a long hunt
_SAMPLES = Path(__file__).parent / "samples"
_FILES = [
    *("verl-console/ray.log", "verl-file/experiment.jsonl", "easyr1/experiment_log.jsonl"),
    *("trl-console/bar.log", "trl-console/trl.log", "ms-swift/logging.jsonl", "openrlhf-console/train.log"),
    *("slime-console/train.log", "deepspeed-chat-console/train.log", "notebook/train.ipynb.json"),
    *("trainer-state/checkpoint-6/trainer_state.json", "verl-rollouts/1.jsonl"),
]
_PIECES = [
    *(
        b"step:",
        b" - ",
        b":",
        b"{'",
        b"'",
        b"}",
        b"{",
        b"(",
        b")",
        b"\\",
        b"\r",
        b"\n",
        b"\x1b[36m",
        b"[repeated 2x across cluster]",
    ),
    *(
        b"nan",
        b"np.float64(",
        b"tensor(",
        b"10%|#| 1/9 [",
        b"Global step 1: {'",
        b"perf 1: {'",
        b"<table>",
        b"</tr>",
        b"\0",
    ),
    *(b"9" * 400, b"GRPOConfig(", b"epoch: 1|step: 1|", b'{"', b"\xff\xfe", b"(TaskRunner pid=1) "),
]


@st.composite
def _mutated(draw: st.DrawFn) -> tuple[str, bytes]:
    """A sample with pieces overwritten, removed and put in."""
    name = draw(st.sampled_from(_FILES))
    data = bytearray((_SAMPLES / name).read_bytes())
    for _ in range(draw(st.integers(0, 12))):
        at = draw(st.integers(0, len(data)))
        piece = draw(st.one_of(st.sampled_from(_PIECES), st.binary(max_size=6)))
        data[at : at + draw(st.integers(0, 40))] = piece
    return name, bytes(data)


@settings(max_examples=_EXAMPLES, deadline=None)
@given(sample=_mutated())
def test_damaged_samples_open_or_are_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, sample: tuple[str, bytes]
) -> None:
    _adds_up(tmp_path_factory.mktemp("log") / sample[0].rpartition("/")[2], sample[1])


@settings(max_examples=_EXAMPLES, deadline=None)
@given(pieces=st.lists(st.one_of(st.sampled_from(_PIECES), st.binary(max_size=8)), max_size=60))
def test_any_pieces_of_logs_open_or_are_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]
) -> None:
    _adds_up(tmp_path_factory.mktemp("log") / "log", b"".join(pieces))


_VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=8,
)


@settings(max_examples=_EXAMPLES, deadline=None)
@given(value=_VALUE, key=st.sampled_from(["cells", "log_history", "data", "input", "global_step", "outputs"]))
def test_documents_of_any_shape_open_or_are_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, value: object, key: str
) -> None:
    document = {key: value, "cell_type": 1, "step": 1, "output": value, "score": value, "global_step/max_steps": value}
    whole = {"cells": [{"cell_type": "code", "outputs": value, "source": value}, value], "log_history": value}
    for each in (document, {**whole, "global_step": 1}, {**whole, "nbformat": 4}):
        _adds_up(tmp_path_factory.mktemp("log") / "log", json.dumps(each, default=str).encode())


def _adds_up(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    try:
        run = open_run(path)
    except UnreadableSource as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017  # nothing but this one line is asked of a refusal
        return
    run.refresh()
    run.samples()
    lines = data.count(b"\n") + data.count(b"\r") + 2
    assert run.rows <= max(lines, data.count(b"{"), data.count(b"<tr"))
    assert 0 <= run.reading.unreadable <= lines
    assert (run.steps[1:] > run.steps[:-1]).all()
    for name in run.metrics:
        assert len(run.column(name)) == run.rows
