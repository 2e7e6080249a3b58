import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.recorder.encoding import StepEncoder
from rlprobe.recording.journal import scan
from rlprobe.recording.merging import decode_steps, merge


def frames_of(count: int) -> list[bytes]:
    encoder = StepEncoder()
    return [encoder.encode("step", n, n, 1.5, {"a": n * 0.5, "b": float(n)})[0] for n in range(count)]


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
        st.integers(0, 6),
        st.dictionaries(st.sampled_from("abc"), st.floats(allow_nan=False), max_size=3),
    ),
    max_size=30,
)


@pytest.mark.slow
@given(_LOGS)
@settings(max_examples=300, deadline=None)
def test_merging_is_what_a_dictionary_of_dictionaries_would_do(logs):
    encoder = StepEncoder()
    pieces = [encoder.encode(kind, n, step, 1.0, values)[0] for n, (kind, step, values) in enumerate(logs)]
    merged = merge(decode_steps(scan(b"".join(pieces)).payloads)[0], segment=3)
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
        got = {name: v[row] for name, (v, m) in rows.columns.items() if m[row] and name != "wall_time"}
        assert got == expected


def test_a_payload_that_names_a_step_beyond_64_bits_is_left_out():
    with pytest.raises(OverflowError):
        StepEncoder().encode("step", 0, 2**70, 1.0, {"a": 1.0})
