"""Steps that become blocks are read as what they are one by one."""

import enum
import math
import struct
from array import array

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe import Recorder
from rlprobe.recorder.packing import BLOCK_STEPS, Blocks, Packer
from rlprobe.recording.journal import scan
from rlprobe.recording.merging import decode_steps
from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Run
from rlprobe.recording.values import convert

_NAMES = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=300), min_size=1, max_size=20, unique=True)
_STEPS = st.integers(-(2**63), 2**63 - 1)
_NUMBERS = st.floats() | st.integers(-(2**54), 2**54) | st.booleans()


class Numbers:
    """Sequence numbers as a session gives them."""

    def __init__(self):
        self.next = 0

    def __call__(self, count):
        self.next += count
        return self.next - count


def read(frames):
    """(number, step, values by name) of each step in frames."""
    found, foreign = decode_steps(scan(b"".join(frames)).payloads)
    assert foreign == 0
    parts = [each.part(place, place + 1) for each in found for place in range(len(each.steps))]
    return [
        (each.sequence, each.steps[0], dict(zip(each.names, array("d", each.values), strict=True))) for each in parts
    ]


def same(one, other):
    return struct.pack("<d", one) == struct.pack("<d", other)


@given(st.data(), _NAMES)
@settings(max_examples=60, deadline=None)
def test_steps_in_blocks_are_read_as_they_were_logged(data, names):
    row = st.lists(_NUMBERS, min_size=len(names), max_size=len(names))
    rows = data.draw(st.lists(st.tuples(_STEPS, row), min_size=1, max_size=90))
    packer, blocks = Packer(), Blocks(Numbers())
    frames = []
    for place, (step, values) in enumerate(rows):
        metrics = dict(zip(names, values, strict=True))
        packed = packer.plain(metrics, place + 0.5) or packer.any(metrics, place + 0.5)[0]
        frames += blocks.add(step, place + 0.5, packed)
    frames += blocks.close()

    got = read(frames)

    assert blocks.close() == []
    assert [(number, step) for number, step, _ in got] == [(place, step) for place, (step, _) in enumerate(rows)]
    for place, ((_, _, values), (_, given_values)) in enumerate(zip(got, rows, strict=True)):
        expected = dict(zip(*convert(dict(zip(names, given_values, strict=True)))[:2], strict=True))
        expected.setdefault("wall_time", place + 0.5)
        assert values.keys() == expected.keys()
        assert all(same(values[name], expected[name]) for name in expected)
    longest = max(map(len, frames))
    assert longest <= 5120 or all(len(each.steps) == 1 for each in decode_steps(scan(b"".join(frames)).payloads)[0])


@pytest.mark.parametrize(
    "value",
    ["1.0", None, 2**53 + 1, 1j, np.float64(1), np.ones(1), [1.0], float],
    ids=["text", "None", "a large integer", "complex", "a numpy scalar", "an array", "a list", "a type"],
)
def test_what_is_no_plain_number_is_not_packed_and_its_own_code_does_not_run(value):
    assert Packer().plain({"a": 1.0, "b": value}, 0.0) is None


_TEXTS = st.text(st.sampled_from("\u02cb\u02c8a"), max_size=12)  # their bytes look like the marks of floats


@given(st.lists(st.floats() | _TEXTS | st.integers(-(2**63), 2**64 - 1), max_size=20))
@settings(max_examples=300, deadline=None)
def test_no_text_and_no_large_integer_passes_for_a_float(values):
    plain = all(type(value) is float or (type(value) is int and abs(value) <= 2**53) for value in values)

    assert (Packer().plain({str(place): value for place, value in enumerate(values)}, 0.0) is not None) == plain


class Level(enum.Enum):
    LOW = 1.5


def test_a_member_of_an_enumeration_costs_itself_alone(tmp_path):
    assert Packer().plain({"a": 1.0, "b": Level.LOW}, 0.0) is None
    with Recorder(tmp_path / "run") as recorder:
        recorder.log_step(0, {"a": 1.0, "b": Level.LOW})
    run = Run(RecordingFeed(tmp_path / "run"))

    assert run.column("a").tolist() == [1.0]
    assert "b" not in run.metrics
    assert run.reading.bad_values == 1


def test_samples_that_fail_inside_the_recorder_cost_no_step(tmp_path, monkeypatch):
    def fail(rows):
        raise RuntimeError("a fault of the recorder's own")

    monkeypatch.setattr("rlprobe.recorder.session.sample_block", fail)
    with Recorder(tmp_path / "run") as recorder:
        for step in range(5):
            recorder.log_step(step, {"a": 1.0})
            recorder.log_samples(step, [{"reward": 1.0}])
    run = Run(RecordingFeed(tmp_path / "run"))

    assert run.steps.tolist() == [0, 1, 2, 3, 4]
    assert run.reading.dropped == 5


def test_keys_that_are_no_text_are_told_apart_from_equal_ones():
    packer = Packer()

    assert packer.plain({1: 1.0}, 0.0) is None
    assert packer.any({1: 1.0}, 0.0)[0].form.names == ("1", "wall_time")
    assert packer.any({True: 1.0}, 0.0)[0].form.names == ("True", "wall_time")


def test_another_set_or_order_of_metrics_begins_another_block():
    packer, blocks = Packer(), Blocks(Numbers())
    given_rows = [{"a": 1.0, "b": 2.0}] * 3 + [{"b": 3.0, "a": 4.0}] * 2 + [{"a": 5.0}] + [{"a": 1.0, "b": 2.0}]
    frames = [f for step, row in enumerate(given_rows) for f in blocks.add(step, 0.5, packer.plain(row, 0.5))]
    frames += blocks.close()

    assert len(frames) == 4
    assert [values for _, _, values in read(frames)] == [{**row, "wall_time": 0.5} for row in given_rows]


def test_a_block_ends_at_its_most_steps():
    packer, blocks = Packer(), Blocks(Numbers())
    frames = [f for step in range(3 * BLOCK_STEPS) for f in blocks.add(step, 0.5, packer.plain({"a": 1.0}, 0.5))]

    assert [len(each.steps) for each in decode_steps(scan(b"".join(frames)).payloads)[0]] == [BLOCK_STEPS] * 2


def test_a_flood_with_odd_values_and_forms_in_between_is_read_back_whole(tmp_path):
    payload = struct.unpack("<d", struct.pack("<Q", 0x7FF8DEADBEEF0001))[0]
    with Recorder(tmp_path / "run") as recorder:
        for step in range(3000):
            odd = payload if step in (700, 2900) else math.inf if step == 1500 else float(step)
            recorder.log_step(
                step, {"loss": odd, "kl": step / 7, **({"evaluation": 1.0} if step % 1000 == 999 else {})}
            )
    run = Run(RecordingFeed(tmp_path / "run"))

    assert run.steps.tolist() == list(range(3000))
    assert run.column("kl").tolist() == [step / 7 for step in range(3000)]
    assert [hex(bits) for bits in run.column("loss")[[700, 2900]].view("u8").tolist()] == ["0x7ff8deadbeef0001"] * 2
    assert run.column("loss")[1500] == math.inf
    assert run.logged("evaluation").sum() == 3
    assert [(event.step, event.fields["metric"]) for event in run.events if event.kind == "non_finite"] == [
        (700, "loss")
    ]
