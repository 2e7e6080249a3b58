"""What a run keeps of its samples once they have taken the bytes that they may take."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe import Recorder
from rlprobe.recorder.sample_rows import sample_block
from rlprobe.recorder.sampling import SamplePolicy
from tests.support.disasters import opened

ROWS = [{"completion": "x" * 100, "reward": float(n)} for n in range(4)]
AROUND = 2


def size_of(columns: dict[str, list[object]]) -> int:
    values = [value for column in columns.values() for value in column]
    return sum(len(value) if isinstance(value, str) else 8 for value in values)


def steps_kept(run) -> list[int]:
    return sorted(set(np.asarray(run.samples(columns=("step",)).columns["step"]).tolist()))


def test_rows_around_events_are_kept_beyond_the_budget_and_others_thinned(tmp_path):
    with Recorder(tmp_path / "run", max_bytes=10_000) as recorder:
        for step in range(200):
            recorder.log_samples(step, ROWS)
            metrics = {"loss": float("nan") if step == 91 else 1.0}
            recorder.log_step(step, metrics)
            if step == 151:
                recorder.log_event("checkpoint", step, path="x")
    kept = steps_kept(opened(tmp_path / "run"))

    assert {*range(89, 94), *range(149, 154)} <= set(kept)
    assert len(kept) < 80
    assert len([step for step in kept if step > 60 and step % 2]) <= 6  # those of the events
    assert len(opened(tmp_path / "run").samples(step=90)) == len(ROWS)


def test_a_crash_keeps_the_newest_steps(tmp_path):
    def train() -> None:
        with Recorder(tmp_path / "run", max_bytes=5_000) as recorder:
            for step in range(100):
                recorder.log_samples(step, ROWS)
                recorder.log_step(step, loss=1.0 / (99 - step))

    with pytest.raises(ZeroDivisionError):
        train()
    kept = steps_kept(opened(tmp_path / "run"))

    assert {97, 98, 99} <= set(kept)


def test_what_earlier_segments_wrote_counts(tmp_path):
    for segment in range(3):
        with Recorder(tmp_path / "run", max_bytes=8_000) as recorder:
            for step in range(100 * segment, 100 * segment + 100):
                recorder.log_samples(step, [{"completion": f"{step * 7919 % 10007} " * 60}])
    kept = np.array(steps_kept(opened(tmp_path / "run")))

    assert sum(kept < 100) > sum((kept >= 100) & (kept < 200)) >= sum(kept >= 200) > 0


@given(st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), max_size=60), st.integers(500, 4000))
@settings(max_examples=60, deadline=None)
def test_events_never_let_a_run_take_more_than_half_a_budget_and_a_few_steps_more(steps, budget):
    policy, quiet = SamplePolicy(max_bytes=budget), SamplePolicy(max_bytes=budget)
    block = sample_block(ROWS)
    written = largest = 0
    for step, (event, offset) in enumerate(steps):
        for told in ("step", "event"):
            if told == "step":
                pieces = [columns] if (columns := policy.choose(block, step)) else []
            else:
                pieces = [columns for _, columns in policy.around("custom", step + offset)] if event else []
            sizes = [size_of(columns) for columns in pieces]
            written, largest = written + sum(sizes), max([largest, *sizes])
        quiet.choose(block, step)

    assert written == policy.written + policy.spared
    assert written <= quiet.written + budget // 2 + (2 * AROUND + 1) * largest


@settings(max_examples=60, deadline=None)
@given(
    kinds=st.lists(st.sampled_from(["f2", "f4", "f8", "i4", "u1", "list", "none"]), min_size=1, max_size=30),
    one=st.booleans(),
    capture=st.sampled_from(["default", "tokens", "all"]),
    seed=st.integers(0, 9),
)
def test_arrays_are_kept_as_they_would_be_if_all_were_packed_at_once(kinds, one, capture, seed):
    generator = np.random.default_rng(seed)
    given_arrays = []
    for kind in kinds[:1] * len(kinds) if one else kinds:
        numbers = generator.choice([0.0, 1e-9, 3.5, 70000.0, np.nan, -np.inf], size=generator.integers(0, 6))
        whole = numbers if kind in ("list", "none") or kind[0] == "f" else np.nan_to_num(numbers, posinf=9) % 9
        with np.errstate(over="ignore"):
            given_arrays.append(None if kind == "none" else whole.tolist() if kind == "list" else whole.astype(kind))
    rows = [{"reward": float(n % 3), "token_entropy": array} for n, array in enumerate(given_arrays)]
    block = sample_block(rows)
    kept = SamplePolicy(capture=capture).choose(block, step=seed)
    packed = [one for one in kept["token_entropy"] if one is not None]

    assert all(isinstance(one, msgspec.msgpack.Ext) for one in packed)
    for place, row in enumerate(kept["sample"]):
        expected, value = given_arrays[row], kept["token_entropy"][place]
        assert (value is None) == (expected is None)
        if value is not None:
            with np.errstate(over="ignore"):
                assert bytes(value.data) == np.asarray(expected, dtype="<f2").tobytes()
