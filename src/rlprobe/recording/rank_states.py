"""Which ranks of a run are missing, dead or behind, one sentence each."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from rlprobe.recording.layout import LOCK
from rlprobe.recording.rank_tail import RankTail
from rlprobe.recording.run import Manifest

SILENT = 60.0  # seconds without a sign of life; a recorder at work gives one every five
_BEHIND = 2  # steps that a rank may be behind: more is not the moment at which its files were read
_MOST = 8  # ranks that are named
_LOST = re.compile(r"rank (\d+) of \d+ (?:ended without closing|has given no sign of life)")
_MOST_RANKS = 1 << 20  # a larger number in a manifest is none


def notes_on(root: Path, manifest: Manifest, step: int | None, tails: Mapping[int, RankTail]) -> tuple[str, ...]:
    """What a reader of the run should know of its ranks; nothing for a run of one process.

    Args:
        root: the run's directory.
        manifest: rank 0's.
        step: the last step that rank 0 recorded.
        tails: the other ranks that recorded.
    """
    found = [*_of_ranks(root, manifest, step, tails)]
    more = f"{len(found) - _MOST} more ranks are missing or behind"
    return tuple(found if len(found) <= _MOST else [*found[:_MOST], more])


def lost_ranks(notes: Iterable[str]) -> dict[int, str]:
    """Of the notes on a run those that tell of a rank that is gone, by its number."""
    found = ((_LOST.match(note), note) for note in notes)
    return {int(match[1]): note for match, note in found if match is not None}


def _of_ranks(root: Path, manifest: Manifest, step: int | None, tails: Mapping[int, RankTail]) -> Iterator[str]:
    processes, all_ranks = world_of(manifest)
    if own := _own_rank(manifest):
        yield f"this is what rank {own} of {processes} recorded alone; the run is the folder above it"
        return
    world = processes if all_ranks else 1
    heard = _heard(root, tails)
    newest = max(heard.values(), default=0.0)
    if world > 1 and manifest.state == "recording" and 0 in heard and newest - heard[0] > SILENT:
        yield f"rank 0 of {world} has given no sign of life for {newest - heard[0]:.0f} s"
    for number in range(1, world):
        tail = tails.get(number)
        if tail is None:
            yield f"rank {number} of {world} left no recording"
        elif tail.state == "crashed":
            yield f"rank {number} of {world} ended without closing its recording, {_where(tail, step)}"
        elif tail.state == "recording" and newest - heard.get(number, newest) > SILENT:
            silence = newest - heard[number]
            yield f"rank {number} of {world} has given no sign of life for {silence:.0f} s, {_where(tail, step)}"
        elif tail.last_step is not None and step is not None and step - tail.last_step > _BEHIND:
            yield f"rank {number} of {world} is behind, {_where(tail, step)}"


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


def _where(tail: RankTail, step: int | None) -> str:
    last = "before its first step" if tail.last_step is None else f"after step {tail.last_step}"
    return last if step is None else f"{last} where rank 0 is at step {step}"
