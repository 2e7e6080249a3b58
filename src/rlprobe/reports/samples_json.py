"""Answers about samples as JSON documents; raw bytes such as token ids are left out."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from rlprobe.forensics.groups import Group
from rlprobe.forensics.measures import Vocabulary
from rlprobe.forensics.prompts import Timeline
from rlprobe.reports import json, next_steps
from rlprobe.reports.samples_page import Listing

SampleRow = Mapping[str, object]


def samples(facts: Listing, rows: Iterable[SampleRow]) -> Iterator[str]:
    """The document of a list, piece by piece, so that a long one need not be held."""
    first, rows = _first(rows)
    head = {
        "schema": "rlprobe.samples/1",
        "source": facts.source,
        "question": facts.question,
        "matched": facts.matched,
        "strata": [
            {"low": each.low, "high": each.high, "count": each.count, "drawn": each.drawn} for each in facts.strata
        ],
        "notes": facts.notes,
        "next": next_steps.of_samples(facts.source, first),
    }
    yield json.document(head).rstrip().removesuffix("}").rstrip() + ',\n "samples": ['
    between = "\n"
    for row in rows:
        yield between + json.document(row).strip()
        between = ",\n"
    yield "\n ]\n}\n"


def _first(rows: Iterable[SampleRow]) -> tuple[SampleRow | None, Iterable[SampleRow]]:
    """The first of some rows, None where there is none, and all of them."""
    left = iter(rows)
    first = next(left, None)
    return first, chain([] if first is None else [first], left)


def group(facts: Group, source: str) -> Mapping[str, object]:
    """One group as a tree."""
    return {
        "schema": "rlprobe.group/1",
        "source": source,
        "step": facts.step,
        "group": facts.name,
        "group_size": facts.size,
        "steps_with_the_group": facts.steps,
        "samples": facts.rows,
    }


def timeline(facts: Timeline, source: str) -> Mapping[str, object]:
    """One prompt over the run as a tree."""
    visits = [
        {
            "step": visit.step,
            "samples": visit.count,
            "reward_min": visit.reward[0],
            "reward_mean": visit.reward[1],
            "reward_max": visit.reward[2],
            f"length_mean_{facts.unit}": visit.length,
        }
        for visit in facts.visits
    ]
    return {
        "schema": "rlprobe.prompt/1",
        "source": source,
        "key": facts.key,
        "prompt": facts.prompt,
        "visits": visits,
        "samples": facts.samples,
        "others": [{"key": key, "samples": count} for key, count in facts.others],
    }


def columns(words: Vocabulary, source: str) -> Mapping[str, object]:
    """What an expression may speak of."""
    listed = [{"name": name, "kind": kind} for name, kind in sorted(words.kinds.items())]
    return {"schema": "rlprobe.sample-columns/1", "source": source, "columns": listed}
