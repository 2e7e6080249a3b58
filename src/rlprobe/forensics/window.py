"""A few samples of a window of steps, from the lowest reward to the highest."""

from rlprobe.forensics.groups import SampleRow
from rlprobe.forensics.query import Query, between, fetch, select, vocabulary
from rlprobe.forensics.spot_check import spot_check
from rlprobe.recording.run import Run

FEW, MORE = 3, 12  # samples


def window_samples(run: Run, first: int, last: int, *, few: bool) -> tuple[tuple[SampleRow, ...], int]:
    """Samples of steps [first, last], and how many there are in all."""
    blocks = run.sample_blocks()
    if not blocks:
        return (), 0
    words = vocabulary(blocks)
    inside = (between(first, last),)
    number = FEW if few else MORE
    if words.meaning("reward") is not None:
        drawn = spot_check(blocks, words, number, inside)
        return tuple(fetch(blocks, drawn.found)), drawn.found.matched
    found = select(blocks, Query(where=inside, limit=number), words)
    return tuple(fetch(blocks, found)), found.matched
