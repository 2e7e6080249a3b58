import json

from rlprobe.doctor import catalog
from rlprobe.recording.validate import Problem
from rlprobe.reports import json as json_report
from rlprobe.reports import listing, pages, validity
from tests.reports.diagnoses import FAILING, HEALTHY, UNKNOWN
from tests.reports.snapshots import check

PAGE = """# ENTROPY_COLLAPSE

Token entropy falls below 6 % of its baseline.

## What you see

- `entropy_mean` falls and stays down.
- Groups become equal.

## What to do

1. Raise the temperature.

| metric | needed |
|---|---|
| entropy_mean | yes |

```
rlprobe doctor runs/my-run
```
"""
RUNS = (
    listing.Listed(source="runs/length hack", diagnosis=FAILING),
    listing.Listed(source="runs/mastery.jsonl", diagnosis=HEALTHY),
    listing.Listed(source="runs/new", diagnosis=UNKNOWN),
    listing.Listed(source="runs/\x1b[31mold", diagnosis=None, problem="expected version 1, got 9"),
)


def test_a_catalog_page_is_as_it_was_last_read():
    check("page-80.txt", pages.render(PAGE, width=80, color=False))


def test_a_list_of_runs_is_as_it_was_last_read():
    check("listing-80.txt", listing.render(RUNS, width=80, color=False))


def test_a_list_of_runs_as_json_tells_the_worst_finding_or_the_problem():
    runs = json.loads(json_report.document(listing.document(RUNS)))["runs"]

    assert runs[0]["worst"] == {"key": "REWARD_HACK_LENGTH@212", "id": "REWARD_HACK_LENGTH", "severity": "critical"}
    assert runs[1]["worst"] is None
    assert runs[3]["problem"] == "expected version 1, got 9"


def test_the_index_names_every_signature_once():
    signatures = tuple(entry.signature for entry in catalog.entries())
    index = pages.index(signatures, width=120, color=False)

    assert all(index.split().count(signature.id) == 1 for signature in signatures)


def test_problems_of_a_recording_are_told_one_a_line():
    problems = [Problem(id="JOURNAL_WHOLE", where="journal/steps-0-0.mpk", text="ends in a torn frame")]

    assert validity.render("run", [], repaired=None) == "run keeps to the format.\n"
    assert validity.render("run", problems, repaired="copy").splitlines() == [
        "journal/steps-0-0.mpk: ends in a torn frame (JOURNAL_WHOLE)",
        "run breaks the format in 1 place.",
        "copy holds everything that could be read.",
    ]
