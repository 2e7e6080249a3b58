import struct
import zlib
from itertools import groupby

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.recording.journal import StepFrame, StepPayload, frame, scan
from rlprobe.recording.merging import beyond, decode_steps, merge


def single(kind: str, number: int, step: int, row: dict[str, float]) -> bytes:
    """The frame of one step as docs/recording-format.md describes it."""
    names, values = msgspec.Raw(msgspec.msgpack.encode([*row])), struct.pack(f"<{len(row)}d", *row.values())
    return frame(msgspec.msgpack.encode((kind, number, step, 1.5, names, values)))


def frames_of(count: int) -> list[bytes]:
    return [single("step", n, n, {"a": n * 0.5, "b": float(n)}) for n in range(count)]


def block(first: int, steps: list[int], rows: list[dict[str, float]]) -> bytes:
    """The frame of a block as docs/recording-format.md describes it."""
    names = msgspec.Raw(msgspec.msgpack.encode([*rows[0]]))
    values = b"".join(struct.pack(f"<{len(row)}d", *row.values()) for row in rows)
    numbers = struct.pack(f"<{len(steps)}q", *steps)
    return frame(msgspec.msgpack.encode(StepPayload("steps", first, steps[0], 1.5, names, values, numbers)))


FRAMES = frames_of(5)
WHOLE = b"".join(FRAMES)
BOUNDARIES = [0, *(sum(map(len, FRAMES[: n + 1])) for n in range(5))]


def sequences(data: bytes) -> list[int]:
    return [frame.sequence for frame in decode_steps(scan(data).payloads)[0]]


def test_a_file_cut_at_any_byte_gives_every_whole_frame_before_the_cut():
    for cut in range(len(WHOLE) + 1):
        whole = sum(boundary <= cut for boundary in BOUNDARIES) - 1

        assert sequences(WHOLE[:cut]) == list(range(whole))


def test_a_flipped_bit_costs_only_its_own_frame():
    for position in range(len(WHOLE)):
        for bit in (0, 7):
            damaged = bytearray(WHOLE)
            damaged[position] ^= 1 << bit
            hit = sum(boundary <= position for boundary in BOUNDARIES) - 1

            assert sequences(bytes(damaged)) == [n for n in range(5) if n != hit], (position, bit)


def test_a_hole_of_zeros_costs_only_the_frames_that_it_covers():
    for start in range(0, len(WHOLE) - 40, 7):
        damaged = WHOLE[:start] + bytes(40) + WHOLE[start + 40 :]

        kept = sequences(damaged)

        touched = {n for n in range(5) if BOUNDARIES[n] < start + 40 and BOUNDARIES[n + 1] > start}
        assert set(range(5)) - touched <= set(kept) <= set(range(5))
        assert kept == sorted(set(kept))


def test_a_frame_of_length_zero_is_no_frame():
    assert scan(bytes(64)).payloads == []


@given(st.binary(max_size=400))
@settings(max_examples=200, deadline=None)
def test_no_bytes_make_the_reader_raise(noise):
    found = scan(WHOLE + noise)
    frames, _ = decode_steps(found.payloads)

    assert [frame.sequence for frame in frames[:5]] == [0, 1, 2, 3, 4]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=70), st.integers(0, 80))
@settings(max_examples=100, deadline=None)
def test_a_block_is_its_steps_one_by_one_and_can_be_cut_anywhere(steps, cut):
    rows = [{"a": float(place), "b": -0.5 * place} for place in range(len(steps))]
    alone = b"".join(
        single("derived", 7 + place, step, row) for place, (step, row) in enumerate(zip(steps, rows, strict=True))
    )
    found, foreign = decode_steps(scan(block(7, steps, rows)).payloads)
    expected, _ = decode_steps(scan(alone).payloads)

    assert (len(found), foreign) == (1, 0)
    assert [
        (p.sequence, p.steps, p.values) for p in map(found[0].part, range(len(steps)), range(1, len(steps) + 1))
    ] == [(each.sequence, each.steps, each.values) for each in expected]
    rest = beyond(found[0], 2, (2, 7 + cut - 1))
    assert (() if rest is None else rest.steps) == tuple(steps[cut:])
    assert beyond(found[0], 2, (3, 0)) is None
    assert beyond(found[0], 2, (1, 10**9)) is found[0]


@pytest.mark.parametrize(
    "change",
    [
        {"steps": b""},
        {"steps": bytes(7)},
        {"steps": bytes(8)},
        {"steps": bytes(8 * 2048), "values": bytes(8 * 2 * 2048)},
        {"values": bytes(24)},
        {"kind": "step"},
        {"sequence": 2**63},
    ],
    ids=["no steps", "half a step", "fewer steps than values", "too many", "half a row", "another kind", "64 bits"],
)
def test_a_block_that_is_not_as_described_is_counted_and_left_out(change):
    names = msgspec.Raw(msgspec.msgpack.encode(["a", "b"]))
    facts = {"kind": "steps", "sequence": 0, "step": 1, "time": 1.5, "names": names}
    facts |= {"values": bytes(32), "steps": struct.pack("<2q", 1, 2)}
    right, wrong = (frame(msgspec.msgpack.encode(StepPayload(**{**facts, **each}))) for each in ({}, change))
    found, foreign = decode_steps(scan(right + wrong + right).payloads)

    assert ([each.steps for each in found], foreign) == ([(1, 2), (1, 2)], 1)


@given(st.binary(min_size=1, max_size=60))
@settings(max_examples=200, deadline=None)
def test_a_whole_frame_with_a_foreign_payload_is_counted_and_left_out(payload):
    frame = struct.pack("<II", len(payload), zlib.crc32(payload)) + payload
    found = scan(frame + FRAMES[0])
    frames, foreign = decode_steps(found.payloads)

    assert [frame.sequence for frame in frames][-1:] == [0]
    assert foreign + found.damaged == 1


_LOGS = st.lists(
    st.tuples(
        st.sampled_from(["step", "derived"]),
        st.integers(0, 6) | st.sampled_from([-(2**63), 2**63 - 1]),
        st.dictionaries(st.sampled_from("abc"), st.floats(allow_nan=False), max_size=3),
    ),
    max_size=30,
)


def in_blocks(frames: list[StepFrame]) -> list[StepFrame]:
    """Neighbours that name the same metrics, as one frame."""
    out = []
    for (kind, names), members in groupby(frames, lambda each: (each.kind, each.names)):
        held = list(members)
        steps = tuple(step for each in held for step in each.steps)
        out.append(StepFrame(kind, held[0].sequence, steps, names, b"".join(each.values for each in held)))
    return out


@pytest.mark.slow
@given(_LOGS, st.booleans())
@settings(max_examples=300, deadline=None)
def test_merging_is_what_a_dictionary_of_dictionaries_would_do(logs, together):
    pieces = [single(kind, n, step, values) for n, (kind, step, values) in enumerate(logs)]
    frames = decode_steps(scan(b"".join(pieces)).payloads)[0]
    merged = merge(in_blocks(frames) if together else frames, segment=3)
    logged: dict[int, dict[str, float]] = {}
    derived: dict[int, dict[str, float]] = {}
    for kind, step, values in logs:
        target = logged if kind == "step" else derived
        target.setdefault(step, {}).update(values)
        logged.setdefault(step, {})
    rows = merged.rows

    assert rows.steps.tolist() == sorted(logged)
    for row, step in enumerate(rows.steps.tolist()):
        expected = {**derived.get(step, {}), **logged[step]}
        got = {name: v[row] for name, (v, m) in rows.columns.items() if m[row]}
        assert got == expected


def test_metrics_of_the_formats_own_names_are_kept_apart_from_them():
    frames, foreign = decode_steps(scan(single("step", 0, 7, {"step": 1.0, "sequence": 2.0})).payloads)

    assert (frames[0].names, foreign) == (("logged/step", "logged/sequence"), 0)


def test_a_payload_that_names_a_step_beyond_64_bits_is_left_out():
    found, foreign = decode_steps(scan(single("step", 0, 2**63, {"a": 1.0}) + FRAMES[0]).payloads)

    assert ([each.steps for each in found], foreign) == ([(0,)], 1)
