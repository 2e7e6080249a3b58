"""A comparison in a few sentences, the most certain first, and what it cannot tell."""

from collections.abc import Sequence

from rlprobe.forensics.alignment import FEWEST
from rlprobe.forensics.comparison import Comparison, Parted


def conclusion(found: Comparison) -> list[str]:
    """What was found, at least one sentence."""
    told = [*_forked(found), *_unequal(found), *_parted(found), *_sided(found), *_started(found)]
    if told:
        return told
    if found.rows < FEWEST:
        return [f"Too little to say: {found.rows} rows stand side by side; {FEWEST} are needed."]
    alike = "The courses do not part: no metric leaves the other run by more than the two moved apart before."
    return [alike]


def limits(found: Comparison) -> str:
    """What this comparison cannot tell, because of how many runs there are on each side."""
    fewest = min(len(found.ours), len(found.theirs))
    if fewest == 1:
        return (
            "One run on a side: a sudden change is told; a difference that was there from the start, or that grows "
            "slowly, is not told from what another seed does. Compare several seeds: rlprobe diff A1 A2 A3 -- B1 B2 B3."
        )
    if fewest == 2:
        return "Two runs on a side: only differences of many times the scatter between seeds are told; three tell more."
    return ""


def _forked(found: Comparison) -> list[str]:
    fork = found.fork
    if fork is None:
        return []
    if fork.step is None:
        return [f"The runs are the same, bit by bit, in all {fork.rows:,} shared rows of {fork.compared} metrics."]
    return [
        f"The runs are the same, bit by bit, up to step {fork.last_same}; they fork at step {fork.step}, "
        f"in {fork.metrics[0]}{_more(fork.metrics)} of {fork.compared} metrics."
    ]


def _unequal(found: Comparison) -> list[str]:
    if not found.not_finite:
        return []
    first = found.not_finite[0]
    return [f"{'A' if first.on_ours else 'B'} alone logs NaN or infinity: {first.metric} from step {first.step} on."]


def _parted(found: Comparison) -> list[str]:
    told = [f"The courses part: {_where(found.partings)}."] if found.partings else []
    if found.speed is None:
        return told
    factor = found.speed.factor
    pace = (
        f"B is slower: it needs {1 / factor:.2g} times A's steps"
        if factor < 1
        else f"B is faster: {1 / factor:.2g} of A's steps are enough"
    )
    explained = f"That takes away {100 * found.speed.explained:.0f} % of the gap between the courses"
    return [f"{pace} to get as far. {explained}, and nothing parts along that axis.", *told]


def _where(partings: tuple[Parted, ...]) -> str:
    first = partings[0]
    low, high = first.parting.interval
    between = f" (between {low} and {high})" if low != high else ""
    others = len(partings) - 1
    more = f", then {others} more metric{'s' if others > 1 else ''}" if others else ""
    return f"{first.metric} moves first, at step {first.parting.step}{between}{more}"


def _sided(found: Comparison) -> list[str]:
    if not found.sides:
        return []
    first = found.sides[0]
    return [
        f"The sides differ by more than their own runs do: {first.metric}{_more(found.sides)}, "
        f"from steps {first.steps[0]} to {first.steps[1]} on."
    ]


def _started(found: Comparison) -> list[str]:
    if not found.starts:
        return []
    first = found.starts[0]
    return [f"The runs differ from their first rows on: {first.metric}{_more(found.starts)}."]


def _more(told: Sequence[object]) -> str:
    """How many there are beyond the first: " and 2 more"."""
    return f" and {len(told) - 1} more" if len(told) > 1 else ""
