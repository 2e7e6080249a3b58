"""The guide says nothing that the verifier, the doctor and the real bugs do not bear out."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from rlprobe.doctor import catalog as doctor
from rlprobe.skill import bundle
from rlprobe.verifier import catalog as verifier
from rlprobe.verifier.outcome import Category
from tests.support.corpus import runs_directory

CATEGORIES = get_args(Category)
CHECKS = {entry.check.id: entry.check for entry in verifier.entries()}
SEVEN = CATEGORIES[:7]  # the families that any pipeline meets; the verifier lists them first
STAGES = ("reward", "advantages", "logprobs", "loss", "decode", "reference")  # of the six invariants
ELSEWHERE = (  # pitfalls whose checks the verifier counts to a neighbouring family
    "A prompt that begins more than once",
    "Samples that were taken out and still count",
    "A score read at the wrong place",
)
OF_BATCHES = (8, 9, 10, 11)  # families that come with batches, padding and a separate sampler


def _ids(text: str) -> list[str]:
    return re.findall(r"\bV\d{3}\b", text)


def _families() -> dict[str, str]:
    """Text of each family by its name, in order."""
    parts = re.split(r"^## \d+\. (.+)$", bundle.page("pitfalls"), flags=re.MULTILINE)[1:]
    return {name.lower(): text for name, text in zip(parts[::2], parts[1::2], strict=True)}


def _entries() -> dict[str, tuple[str, str]]:
    """Family and text of each pitfall by its title."""
    found: dict[str, tuple[str, str]] = {}
    for family, text in _families().items():
        parts = re.split(r"^### (.+)$", text, flags=re.MULTILINE)[1:]
        found |= {title: (family, body) for title, body in zip(parts[::2], parts[1::2], strict=True)}
    return found


ENTRIES = _entries()


def _bugs() -> list[dict[str, str]]:
    runs = runs_directory()
    if runs is None or not (path := runs.parent / "implementation-bugs.jsonl").is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_front_matter_is_what_tools_take() -> None:
    head = (bundle.FOLDER / "SKILL.md").read_text(encoding="utf-8").split("---\n")[1]
    fields = dict(line.split(": ", 1) for line in head.splitlines())

    assert fields["name"] == bundle.NAME == bundle.FOLDER.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fields["name"])
    assert 200 < len(fields["description"]) <= 1024
    assert "Use when" in fields["description"]
    assert fields["license"] == "Apache-2.0"


def test_the_first_page_is_short_enough_to_be_read_at_once() -> None:
    text = bundle.page("guide")

    assert len(text.splitlines()) < 500
    assert len(text) < 16_000  # characters: about 4,000 tokens


def test_the_families_are_the_pitfall_categories_of_the_verifier_in_its_order() -> None:
    assert tuple(_families()) == CATEGORIES
    assert SEVEN == (
        "log-space signs",
        "constants",
        "string processing",
        "reward and decoding mismatch",
        "reference drift",
        "gradient breakage",
        "configuration",
    )


def test_the_table_of_families_names_checks_of_that_family() -> None:
    rows = re.findall(r"^\| (\d+) \| ([a-z][^|]+) \| ((?:V\d{3}(?:, )?)+) \|$", bundle.page("guide"), re.MULTILINE)

    assert [name for _, name, _ in rows] == list(CATEGORIES)
    for _, name, listed in rows:
        assert any(CHECKS[id].category == name for id in _ids(listed)), name


@pytest.mark.parametrize("title", ENTRIES)
def test_every_pitfall_names_checks_of_its_family(title: str) -> None:
    family, text = ENTRIES[title]
    (line,) = re.findall(r"^Checks: (.*?)\.(?: Seen in|$)", text.strip(), re.MULTILINE)

    assert set(_ids(line)) <= set(CHECKS)
    assert len(set(_ids(line))) == len(_ids(line)) > 0
    assert (family in {CHECKS[id].category for id in _ids(line)}) == (title not in ELSEWHERE)


def test_the_six_invariants_are_those_of_the_six_stages_and_name_their_checks() -> None:
    table = bundle.page("guide").split("## Six invariants")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\d) \| (.+) \| ([^|]+) \|$", table, re.MULTILINE)

    assert [number for number, _, _ in rows] == list("123456")
    for (_, _, listed), stage in zip(rows, STAGES, strict=True):
        assert len(_ids(listed)) >= 3
        assert any(CHECKS[id].stage == stage for id in _ids(listed)), stage


@pytest.mark.parametrize("page", bundle.PAGES)
def test_every_id_on_a_page_exists(page: str) -> None:
    text = bundle.page(page)
    named = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", text)) - {"NOT_FILLED_IN"}

    assert set(_ids(text)) <= set(CHECKS)
    assert named <= {entry.signature.id for entry in doctor.entries()}


def test_the_walk_knows_every_critical_signature() -> None:
    text = bundle.page("workflow")
    critical = {e.signature.id for e in doctor.entries() if e.signature.severity == "critical"}

    assert {id for id in critical if id not in text} <= {"REWARD_COLLAPSE"}  # what follows, whatever went wrong before


@pytest.mark.skipif(not _bugs(), reason="the real bugs are not to be had")
def test_every_real_bug_has_its_place_in_its_family() -> None:
    families = list(_families().values())
    for bug in _bugs():
        number = int(bug["pitfall_category"].split()[0])
        assert f"({bug['url']})" in families[number - 1], bug["id"]


@pytest.mark.skipif(not _bugs(), reason="the real bugs are not to be had")
def test_no_link_leads_to_anything_but_a_real_bug_and_the_last_families_hold_most() -> None:
    count = Counter(int(bug["pitfall_category"].split()[0]) for bug in _bugs())

    linked = set(re.findall(r"\((https://[^)]+)\)", bundle.page("pitfalls")))
    assert linked == {bug["url"] for bug in _bugs()}
    assert sum(count[number] for number in OF_BATCHES) > count.total() / 2
    assert max(count, key=count.__getitem__) == 9  # "the largest family"


def test_numbers_by_hand_are_right() -> None:
    from math import exp, log

    total = log(exp(2) + exp(1) + 1)
    shown = ", ".join(f"{logit - total:.3f}" for logit in (2, 1, 0))

    assert shown == "-0.408, -1.408, -2.408"
    assert shown in bundle.page("workflow")
    assert shown in bundle.page("pitfalls")


def test_every_file_of_the_skill_is_told_by_a_page() -> None:
    pages = "\n".join(bundle.page(name) for name in bundle.PAGES)

    assert [name for name in bundle.files() if Path(name).name not in pages and name != "SKILL.md"] == []
