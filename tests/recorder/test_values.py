"""Every kind of value that a trainer logs, and what it costs."""

import math
import struct
from array import array
from decimal import Decimal

import numpy as np
import pytest

from rlprobe import Recorder
from rlprobe.recorder.ownership import MetricsHolder
from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Run
from rlprobe.recording.sample_columns import clean_column
from rlprobe.recording.values import convert


class Tensor:
    """Stands in for a torch tensor: size is a method, the value comes from item(), clone() copies."""

    def __init__(self, values):
        self.values = list(values)

    def size(self):
        return (len(self.values),)

    def numel(self):
        return len(self.values)

    def detach(self):
        return self

    def clone(self):
        return Tensor(self.values)

    def item(self):
        return self.values[0]


class Hostile:
    def __float__(self):
        raise RuntimeError("no")

    def __repr__(self):
        raise RuntimeError("no")


def record(path, *rows, **options) -> Run:
    with Recorder(path / "run", **options) as recorder:
        for step, row in enumerate(rows):
            recorder.log_step(step, row)
    return Run(RecordingFeed(path / "run"))


GOOD = {
    "float": (0.1, 0.1),
    "int": (3, 3.0),
    "bool": (True, 1.0),
    "numpy float32": (np.float32(0.1), float(np.float32(0.1))),
    "numpy float16": (np.float16(0.5), 0.5),
    "numpy int": (np.int64(7), 7.0),
    "numpy bool": (np.bool_(True), 1.0),
    "0-d array": (np.array(2.5), 2.5),
    "array of one": (np.array([2.5]), 2.5),
    "tensor": (Tensor([1.25]), 1.25),
    "decimal": (Decimal("0.25"), 0.25),
    "exact large int": (2**60, 2.0**60),
}
BAD = {
    "text": "0.5",
    "bytes": b"1",
    "none": None,
    "dict": {"a": 1},
    "list": [1.0],
    "array": np.zeros(3),
    "tensor of two": Tensor([1.0, 2.0]),
    "complex": 1j,
    "hostile": Hostile(),
    "beyond float64": 10**400,
}


def test_every_kind_of_number_is_kept(tmp_path):
    run = record(tmp_path, {name: given for name, (given, _) in GOOD.items()})

    for name, (_, expected) in GOOD.items():
        assert run.column(name)[0] == expected, name
    assert run.reading.bad_values == 0


def test_a_bad_value_costs_only_itself_and_is_told_once_a_metric(tmp_path):
    rows = [{"loss": 1.0, **BAD, "tail": 2.0}] * 5
    run = record(tmp_path, *rows)
    told = [event.fields["metric"] for event in run.events if event.kind == "bad_value"]

    assert run.column("loss").tolist() == [1.0] * 5
    assert run.column("tail").tolist() == [2.0] * 5
    assert sorted(told) == sorted(BAD)
    assert run.reading.bad_values == 5 * len(BAD)
    assert not any(run.logged(name).any() for name in BAD)


def test_an_integer_beyond_2_to_53_is_kept_as_the_nearest_float_and_told(tmp_path):
    run = record(tmp_path, {"tokens_total": 2**53 + 1})

    assert run.column("tokens_total")[0] == 2.0**53
    assert [event.fields["reason"] for event in run.events if event.kind == "bad_value"] == ["rounded to float64"]


def test_nan_payloads_infinities_and_not_logged_stay_apart_bit_for_bit(tmp_path):
    payload = struct.unpack("<d", struct.pack("<Q", 0x7FF8DEADBEEF0001))[0]
    run = record(tmp_path, {"a": payload}, {"a": math.inf, "b": 1.0}, {"a": -math.inf}, {"a": -0.0}, {"b": 2.0})

    bits = run.column("a").view(np.uint64)
    assert hex(int(bits[0])) == "0x7ff8deadbeef0001"
    assert run.column("a")[1:4].tolist() == [math.inf, -math.inf, 0.0]
    assert math.copysign(1, run.column("a")[3]) == -1
    assert run.logged("a").tolist() == [True, True, True, True, False]
    assert run.logged("b").tolist() == [False, True, False, False, True]
    assert [(e.step, e.fields["metric"], e.fields["value"]) for e in run.events if e.kind == "non_finite"] == [
        (0, "a", "NaN")
    ]


def test_a_metric_may_appear_late_and_may_have_any_name(tmp_path):
    names = ["step", "segment", "sequence", "", "a b", "ключ", "x" * 500, "rewards/f:1", "\ud800", "quote\"'\n"]
    run = record(tmp_path, {"loss": 1.0}, {"loss": 2.0, **dict.fromkeys(names, 3.0)}, {3: 4.0})

    assert run.column("loss").tolist()[:2] == [1.0, 2.0]
    for name in ("logged/step", "logged/segment", "logged/sequence", "", "a b", "ключ", "x" * 500, "rewards/f:1", "?"):
        assert run.logged(name).tolist() == [False, True, False], name
    assert run.column("3")[2] == 4.0
    assert run.reading.bad_values == 0


@pytest.mark.slow
def test_ten_thousand_metrics_are_kept(tmp_path):
    run = record(tmp_path, *({f"metric {n}": n + step for n in range(10_000)} for step in range(5)))

    assert run.rows == 5
    assert all(run.column(f"metric {n}")[4] == n + 4 for n in range(10_000))


def test_a_step_that_is_no_number_costs_only_its_call(tmp_path):
    with Recorder(tmp_path / "run") as recorder:
        recorder.log_step("five", {"a": 1.0})
        recorder.log_step(float("nan"), {"a": 1.0})
        recorder.log_step(2**70, {"a": 1.0})
        recorder.log_step(np.int64(3), {"a": 2.0})
        assert recorder.errors == 3
    run = Run(RecordingFeed(tmp_path / "run"))

    assert run.steps.tolist() == [3]


class Meter:
    """A number of somebody's own, which cannot be added to others."""

    def __float__(self):
        return 1.5


@pytest.mark.parametrize(
    "make", [lambda: np.array(2.0), lambda: np.array([2.0]), lambda: np.float32(2.0), lambda: Tensor([2.0]), Meter]
)
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("compact", [False, True])
def test_a_row_is_held_so_that_no_later_change_of_an_array_or_of_the_dict_shows(make, place, compact):
    names, value = ["a", "b", "c"], make()
    given = {name: value if names.index(name) == place else 1.0 for name in names}
    item = MetricsHolder().hold(7, 1.5, given, compact)
    held, size = item.metrics, item.size
    given.clear()
    if isinstance(value, np.ndarray):
        value[...] = 9.0
    if isinstance(value, Tensor):
        value.values[0] = 9.0

    assert size > 0
    assert convert(held)[0] == names
    assert convert(held)[1][place] == (1.5 if isinstance(value, Meter) else 2.0)


def test_a_row_of_plain_numbers_is_held_as_a_copy_and_packed_where_memory_is_dear():
    given = {"a": 1.0, "b": 2, "c": True}
    holder = MetricsHolder()

    assert holder.hold(0, 0.0, given, False).metrics == given
    assert holder.hold(0, 0.0, given, False).metrics is not given
    packed = holder.hold(0, 7.0, given, True).metrics
    assert dict(zip(packed.form.names, array("d", packed.values), strict=True)) == {**given, "wall_time": 7.0}
    assert holder.hold(0, 0.0, {"a": "text"}, True).metrics == {"a": "text"}


def test_what_the_caller_changes_after_the_call_is_not_recorded(tmp_path):
    array, metrics = np.array(1.0), {"a": 1.0}
    rows = [{"reward": 1.0, "token_logprobs": np.ones(4, dtype=np.float32), "rewards": {"f": 1.0}}]
    with Recorder(tmp_path / "run", capture="all") as recorder:
        recorder.log_step(0, {**metrics, "array": array})
        recorder.log_samples(0, rows)
        array[...] = 9.0
        metrics["a"] = 9.0
        rows[0]["token_logprobs"][:] = 9.0
        rows[0]["rewards"]["f"] = 9.0
    run = Run(RecordingFeed(tmp_path / "run"))
    samples = run.samples()

    assert run.column("array")[0] == 1.0
    assert samples.columns["token_logprobs"][0].tolist() == [1.0] * 4
    assert samples.columns["reward/f"].tolist() == [1.0]


def test_samples_of_any_shape_are_kept_and_a_bad_one_costs_only_itself(tmp_path):
    with Recorder(tmp_path / "run", capture="all") as recorder:
        recorder.log_samples(0, {"reward": [1.0, "x", None], "completion": ["a", "b", "c"], "odd": [1]})
        recorder.log_samples(1, [{"reward": 1, "mine": {"deep": [1]}}, "no dict", {"reward": np.float32(2)}])
        recorder.log_samples(2, [{"prompt": [{"role": "user", "content": "hi"}], "token_ids": np.arange(3)}])
        recorder.log_samples(3, [])
        recorder.log_samples(4, {"rewards": {"f": [1.0, 2.0]}, "truncated": [True, False]})
    run = Run(RecordingFeed(tmp_path / "run"))

    first = run.samples(step=0)
    assert first.columns["completion"] == ["a", "b", "c"]
    assert np.array_equal(first.columns["reward"], [1.0, np.nan, np.nan], equal_nan=True)
    assert len(run.samples(step=1)) == 3
    chat = run.samples(step=2)
    assert chat.columns["prompt"] == ["hi"]
    assert chat.columns["prompt_messages"] == ['[{"role": "user", "content": "hi"}]']
    assert chat.columns["token_ids"][0].tolist() == [0, 1, 2]
    assert run.samples(step=4).columns["reward/f"].tolist() == [1.0, 2.0]
    assert {e.fields["metric"] for e in run.events if e.kind == "bad_value"} == {"reward", "odd", "samples"}


@pytest.mark.parametrize(
    "arrays",
    [
        [np.array([0.1, -0.0, np.nan], dtype=np.float32), np.array([], dtype=np.float32), np.full(3, 1e9, np.float32)],
        [np.arange(4), np.array([[1, 2], [3, 4]])],
        [np.array([1.0, np.inf]), np.array(2.5)],
    ],
    ids=["float32", "integers", "float64 of several shapes"],
)
@pytest.mark.parametrize("kind", ["binary float16", "binary int32"])
def test_arrays_converted_together_are_what_they_are_one_by_one(arrays, kind):
    if kind == "binary int32":
        arrays = [np.nan_to_num(array, posinf=7).clip(-9, 9).astype(np.int64) for array in arrays]
    together, wrong = clean_column(kind, arrays)
    alone = [clean_column(kind, [array, None])[0][0] for array in arrays]

    assert wrong is None
    assert [(one.code, bytes(one.data)) for one in together] == [(one.code, bytes(one.data)) for one in alone]


def test_an_integer_beyond_64_bits_costs_only_itself_in_a_column():
    assert clean_column("int64", [2**2000, 2**63 - 1])[0] == [None, 2**63 - 1]


def test_a_dict_that_is_changed_after_the_call_keeps_what_was_logged(tmp_path):
    metrics: dict[str, object] = {"a": 1.0, "b": np.array(2.0)}
    plain: dict[object, object] = {"a": 1.0, 3: True}
    with Recorder(tmp_path / "run") as recorder:
        recorder.log_step(0, metrics)
        recorder.log_step(1, plain)
        metrics["a"], metrics["c"] = 9.0, 9.0
        metrics["b"][...] = 9.0
        plain.clear()
    run = Run(RecordingFeed(tmp_path / "run"))

    assert run.column("a").tolist() == [1.0, 1.0]
    assert run.column("b")[0] == 2.0
    assert run.column("3")[1] == 1.0
    assert "c" not in run.metrics


def test_half_a_surrogate_pair_costs_that_character_and_not_the_samples_of_the_step(tmp_path):
    with Recorder(tmp_path / "run") as recorder:
        recorder.log_samples(0, [{"completion": "half \ud83d pair", "reward/\ud83d": 1.0}, {"completion": "whole"}])

    samples = Run(RecordingFeed(tmp_path / "run")).samples()
    assert samples.columns["completion"] == ["half ? pair", "whole"]
    assert "reward/?" in samples.columns
