"""Steps that become blocks together are read as what they are one by one."""

import math
import struct

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe import Recorder
from rlprobe.recorder.alike import LEAST, MOST, AlikeEncoder, runs
from rlprobe.recorder.encoding import StepEncoder
from rlprobe.recorder.items import EventItem, StepItem
from rlprobe.recording.journal import scan
from rlprobe.recording.layout import LOGGED
from rlprobe.recording.merging import decode_steps
from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Run

encode = msgspec.msgpack.Encoder().encode
_NAMES = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=300), min_size=1, max_size=20, unique=True)
_STEPS = st.integers(-(2**63), 2**63 - 1)


def one_by_one(frames):
    found, foreign = decode_steps(scan(b"".join(frames)).payloads)
    assert foreign == 0
    return [frame.part(place, place + 1) for frame in found for place in range(len(frame.steps))]


@given(st.data(), _NAMES)
@settings(max_examples=60, deadline=None)
def test_steps_in_blocks_are_read_as_those_in_frames_of_their_own(data, names):
    row = st.lists(st.floats(), min_size=len(names), max_size=len(names))
    rows = data.draw(st.lists(st.tuples(_STEPS, row), min_size=1, max_size=90))
    items = [StepItem(step, 0.5 + n, encode(dict(zip(names, row, strict=True)))) for n, (step, row) in enumerate(rows)]
    alone = StepEncoder()
    expected = [
        alone.encode(LOGGED, n, item.step, item.time, dict(zip(names, values, strict=True)))
        for n, (item, (_, values)) in enumerate(zip(items, rows, strict=True))
    ]

    together = AlikeEncoder().encode(items, 0)

    assert together is not None
    assert len(together.frames) <= max(1, len(items) * (len(names) + 3) * 300 // 4096)
    assert one_by_one(together.frames) == one_by_one([frame for frame, _, _ in expected])
    assert set(together.odd) == {name for _, _, odd in expected for name, _ in odd}


@pytest.mark.parametrize(
    "others",
    [{"a": 1.0, "c": 2.0}, {"b": 1.0, "a": 2.0}, {"a": 1.0, "b": 2**40}, {"a": "12345678", "b": 1.0}],
    ids=["another name", "another order", "an integer", "a text"],
)
def test_steps_of_another_form_are_not_taken_for_alike(others):
    metrics = [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}, others]
    items = [StepItem(n, 0.0, encode(each)) for n, each in enumerate(metrics)]
    assert len({len(item.metrics) for item in items}) == 1

    assert AlikeEncoder().encode(items, 0) is None
    assert AlikeEncoder().encode(items[2:], 0) is None or list(map(type, others.values())) == [float, float]


def test_runs_keep_every_item_and_the_order():
    step = StepItem(0, 0.0, encode({"a": 1.0}))
    event, plain, foreign = (
        EventItem("custom", None, 0.0, {}),
        StepItem(0, 0.0, {"a": 1.0}),
        StepItem(0, 0.0, {"a": 1j}),
    )
    items = [*[step] * (LEAST - 1), event, *[plain] * 1000, *[step] * MOST, foreign]
    cut = list(runs(items))

    assert [item for run in cut for item in run] == [*[step] * (LEAST - 1), event, *[step] * (1000 + MOST), foreign]
    assert [len(run) for run in cut] == [1] * LEAST + [MOST, 1000, 1]


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
