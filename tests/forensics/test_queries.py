import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.forensics.expression import parse
from rlprobe.forensics.query import Query, between, distance, fetch, holding, of_prompt, select, steps_of, vocabulary
from rlprobe.opening import open_run
from rlprobe.recorder.recorder import Recorder
from rlprobe.recording.layout import SAMPLES
from rlprobe.recording.run import Samples
from rlprobe.recording.sample_blocks import held_block, recorded_blocks
from rlprobe.recording.samples import snapshot_samples, write_columns
from tests.forensics.recordings import record, watched

ROWS = {
    step: [
        {
            "group": str(index // 2),
            "prompt": f"question {index // 2}",
            "completion": f"answer {step} {'again ' * index}",
            "reward": (step * 7 + index * 3) % 10 / 10,
            "completion_tokens": 10 * index + step,
            "stop_reason": "eos" if index % 2 else "length",
            "truncated": index % 2 == 0,
        }
        for index in range(4)
    ]
    for step in range(1, 6)
}


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return record(tmp_path_factory.mktemp("samples") / "run", ROWS)


def asked(run, where=None, sort=None, **rest):
    """The samples that answer, as (step, sample)."""
    blocks = run.sample_blocks()
    words = vocabulary(blocks)
    conditions = () if where is None else (parse(where, words.kinds),)
    order = None if sort is None else parse(sort, words.kinds)
    found = select(blocks, Query(where=conditions, sort=order, **rest), words)
    return [(row["step"], row["sample"]) for row in fetch(blocks, found)], found


def test_a_condition_takes_the_samples_that_fulfil_it_in_recorded_order(recording):
    places, found = asked(open_run(recording), "reward >= 0.9 and not truncated")

    wanted = [(s, i) for s, rows in ROWS.items() for i, row in enumerate(rows) if row["reward"] >= 0.9 and i % 2]
    assert places == wanted
    assert found.matched == len(wanted)
    assert found.scanned == 20


def test_the_order_is_that_of_the_key_and_ties_keep_the_recorded_order(recording):
    places, found = asked(open_run(recording), sort="reward", limit=7)

    everything = sorted(((-row["reward"], s, i) for s, rows in ROWS.items() for i, row in enumerate(rows)))
    assert places == [(s, i) for _, s, i in everything[:7]]
    assert found.matched == 20


def test_a_question_reads_only_the_columns_it_needs_and_texts_of_the_shown_rows(recording):
    blocks = watched(open_run(recording))
    words = vocabulary(blocks)
    query = Query(where=(parse("reward > 0.5"),), sort=parse("completion_tokens"), limit=2)

    found = select(blocks, query, words)
    assert {name for block in blocks for names in block.asked for name in names} == {
        "reward",
        "completion_tokens",
        "step",
    }

    assert all("completion" in row for row in fetch(blocks, found))
    assert len(blocks[0].asked) == 2


def parts(root, steps):
    """A recording's directory with one part a step, as a long run leaves it."""
    (root / SAMPLES).mkdir(parents=True)
    for number, step in enumerate(steps):
        columns = {"step": [step] * 3, "segment": [0] * 3, "sequence": [number] * 3, "reward": [0.1, 0.2, 0.3]}
        write_columns(root / SAMPLES / f"part-{number:06d}.parquet", columns, (0, number))
    return root


def test_parts_without_a_step_that_is_asked_for_are_not_read(tmp_path):
    blocks = [each for each in recorded_blocks(parts(tmp_path / "run", range(10)), {0: 0})]
    seen = []
    words = vocabulary(blocks)
    for condition in (between(4, 5), parse("step >= 4 and reward > 0 and step <= 5"), parse("4 <= step and 5 >= step")):
        found = select(blocks, Query(where=(condition,)), words)
        seen.append((found.scanned, found.matched))

    assert seen == [(6, 6)] * 3
    assert steps_of((parse("step == 3 or step == 9"),)) == (-(2.0**62), 2.0**62)


def test_a_damaged_part_costs_its_own_rows_only(tmp_path):
    root = parts(tmp_path / "run", range(4))
    victim = root / SAMPLES / "part-000002.parquet"
    data = bytearray(victim.read_bytes())
    data[4:40] = b"\xff" * 36
    victim.write_bytes(bytes(data))
    (root / SAMPLES / "part-000003.parquet").write_bytes(b"no parquet")

    blocks = recorded_blocks(root, {0: 0})
    found = select(blocks, Query(where=(parse("reward > 0.25"),)), vocabulary(blocks))

    assert [row["step"] for row in fetch(blocks, found)] == [0, 1]


def test_samples_of_a_live_run_are_found_in_its_journal(tmp_path):
    recorder = Recorder(tmp_path / "run", capture="all")
    recorder.log_samples(1, [{"reward": 0.25, "completion": "early"}])
    assert recorder.flush()

    run = open_run(tmp_path / "run")
    assert asked(run, "reward == 0.25")[0] == [(1, 0)]
    recorder.log_samples(2, [{"reward": 0.75, "completion": "late"}])
    assert recorder.flush()
    assert asked(run, "reward > 0")[0] == [(1, 0), (2, 0)]
    recorder.close()
    assert asked(run, "reward > 0")[0] == [(1, 0), (2, 0)]


def test_samples_that_a_rewind_took_back_are_not_found(tmp_path):
    for first, reward in ((1, 0.1), (3, 0.9)):
        recorder = Recorder(tmp_path / "run", capture="all")
        for step in range(first, first + 4):
            recorder.log_step(step, {"reward_mean": reward})
            recorder.log_samples(step, [{"reward": reward}])
        recorder.close()
        snapshot_samples(tmp_path / "run")

    run = open_run(tmp_path / "run")
    blocks = run.sample_blocks()
    found = select(blocks, Query(), vocabulary(blocks))
    rows = [(row["step"], row["reward"]) for row in fetch(blocks, found)]
    assert rows == [(1, 0.1), (2, 0.1), (3, 0.9), (4, 0.9), (5, 0.9), (6, 0.9)]
    assert rows == list(zip(run.samples().columns["step"], run.samples().columns["reward"], strict=True))


values = st.lists(st.one_of(st.none(), st.floats(-2, 2), st.just(math.nan), st.just(math.inf)), min_size=1, max_size=40)


@settings(max_examples=60, deadline=None)
@given(values=values, limit=st.integers(1, 45), cut=st.integers(1, 40), ascending=st.booleans())
def test_the_first_of_many_blocks_are_the_first_of_one_sorted_list(values, limit, cut, ascending):
    pieces = [values[start : start + cut] for start in range(0, len(values), cut)]
    columns = [{"step": np.arange(len(piece)), "reward": piece} for piece in pieces]
    blocks = [held_block(Samples(columns=each, rows=len(each["step"]))) for each in columns]
    words = vocabulary([*blocks, held_block(Samples(columns={"reward": [1.0]}, rows=1))])

    found = select(blocks, Query(sort=parse("reward"), ascending=ascending, limit=limit), words)

    def rank(place):
        value = values[place]
        known = value is not None and not math.isnan(value)
        return (not known, (value if ascending else -value) if known else 0.0, place)

    wanted = sorted(range(len(values)), key=rank)[:limit]
    assert (found.blocks * cut + found.rows).tolist() == wanted


def test_texts_are_found_in_any_case_and_prompts_by_id_or_text(recording):
    run = open_run(recording)
    blocks = run.sample_blocks()
    words = vocabulary(blocks)

    def count(condition):
        return select(blocks, Query(where=(condition,)), words).matched

    identifier = next(iter(fetch(blocks, select(blocks, Query(limit=1), words))))["prompt_id"]
    assert count(holding("AGAIN again", "completion")) == 10
    assert count(of_prompt(identifier[:8], words)) == 10
    assert count(of_prompt("Question 1", words)) == 10
    nearest = select(blocks, Query(sort=distance(3), ascending=True, limit=4), words)
    assert {row["step"] for row in fetch(blocks, nearest)} == {3}
