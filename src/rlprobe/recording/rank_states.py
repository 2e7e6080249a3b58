"""Which ranks of a run are missing, dead or behind, and the sentence for each."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

from rlprobe.recording.layout import LOCK
from rlprobe.recording.rank_tail import RankTail
from rlprobe.recording.run import Manifest, RankState, Reading

SILENT = 60.0  # seconds without a sign of life; a recorder at work gives one every five
_BEHIND = 2  # steps that a rank may be behind: more is not the moment at which its files were read
_MOST = 8  # ranks that are named
_MOST_RANKS = 1 << 20  # a larger number in a manifest is none


def with_ranks(
    reading: Reading, root: Path, manifest: Manifest, step: int | None, tails: Mapping[int, RankTail]
) -> Reading:
    """The reading with what is to be known of the run's ranks; as it is for a run of one process.

    Args:
        reading: of all ranks.
        root: the run's directory.
        manifest: rank 0's.
        step: the last step that rank 0 recorded.
        tails: the other ranks that recorded.
    """
    found = _of_ranks(root, manifest, step, tails)
    named = tuple(islice(found, _MOST))
    more = sum(1 for _ in found)
    last = (f"{more} more ranks are missing or behind",) if more else ()
    return replace(reading, notes=(*reading.notes, *map(sentence, named), *last), ranks=named)


def sentence(one: RankState) -> str:
    """What a person is told of a rank."""
    name = f"rank {one.rank} of {one.processes}"
    last = "before its first step" if one.step is None else f"after step {one.step}"
    where = last if one.run_step is None else f"{last} where rank 0 is at step {one.run_step}"
    if one.state == "part":
        return f"this is what {name} recorded alone; the run is the folder above it"
    if one.state == "absent":
        return f"{name} left no recording"
    if one.state == "ended":
        return f"{name} ended without closing its recording, {where}"
    if one.state == "behind":
        return f"{name} is behind, {where}"
    silent = f"{name} has given no sign of life for {one.silence} s"
    return f"{silent}, {where}" if one.rank else silent


def _of_ranks(root: Path, manifest: Manifest, step: int | None, tails: Mapping[int, RankTail]) -> Iterator[RankState]:
    processes, all_ranks = world_of(manifest)
    if own := _own_rank(manifest):
        yield RankState(rank=own, processes=processes, state="part")
        return
    world = processes if all_ranks else 1
    heard = _heard(root, tails)
    newest = max(heard.values(), default=0.0)
    silence = {number: round(newest - when) for number, when in heard.items() if newest - when > SILENT}
    if world > 1 and manifest.state == "recording" and 0 in silence:
        yield RankState(rank=0, processes=world, state="silent", step=step, run_step=step, silence=silence[0])
    for number in range(1, world):
        tail = tails.get(number)
        if tail is None:
            yield RankState(rank=number, processes=world, state="absent", run_step=step)
            continue
        known = RankState(rank=number, processes=world, state="behind", step=tail.last_step, run_step=step)
        if tail.state == "crashed":
            yield replace(known, state="ended")
        elif tail.state == "recording" and number in silence:
            yield replace(known, state="silent", silence=silence[number])
        elif tail.last_step is not None and step is not None and step - tail.last_step > _BEHIND:
            yield known


def world_of(manifest: Manifest) -> tuple[int, bool]:
    """How many processes the newest session had, and whether all of them were to record."""
    newest = _newest(manifest)
    world = newest.get("ranks")
    counted = isinstance(world, int) and not isinstance(world, bool) and 0 < world < _MOST_RANKS
    return world if counted else 1, bool(newest.get("all_ranks"))  # type: ignore[return-value]  # counted says that it is one


def _own_rank(manifest: Manifest) -> int:
    """Whose recording it is: 0 for the run's, and where that is not known."""
    own = _newest(manifest).get("rank")
    return own if isinstance(own, int) and not isinstance(own, bool) and 0 < own < _MOST_RANKS else 0


def _newest(manifest: Manifest) -> Mapping[str, object]:
    """What the manifest says of the newest session."""
    listed = manifest.raw.get("segments")
    return listed[-1] if isinstance(listed, list) and listed and isinstance(listed[-1], dict) else {}


def _heard(root: Path, tails: Mapping[int, RankTail]) -> dict[int, float]:
    """Rank -> when its recorder last gave a sign of life: comparable, since one file system stamps them all."""
    found = {number: tail.heard() for number, tail in tails.items()}
    try:
        found[0] = (root / LOCK).stat().st_mtime
    except OSError:
        found[0] = None
    return {number: when for number, when in found.items() if when is not None}
