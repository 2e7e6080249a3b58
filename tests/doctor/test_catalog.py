"""What every signature and its page must hold, for all there are."""

import csv
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from rlprobe.doctor import catalog
from rlprobe.doctor.catalog import Entry, UnknownSignature, entries, entry, normals, page
from rlprobe.doctor.condense import Condensed
from rlprobe.doctor.memory import Memory
from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import ABOUT, Judgement
from rlprobe.lab import faults, variants
from rlprobe.recording.metrics import METRICS, find
from rlprobe.recording.run import Run
from rlprobe.recording.settings import SETTINGS
from tests.support.runs import columns_run, course

ROOT = Path(__file__).parents[2]
IDS = ROOT / "bench" / "doctor" / "ids.csv"
HEADINGS = [
    "## What you see",
    "## Why it happens",
    "## What to do",
    "## What must be logged",
    "## Easily confused with",
    "## Example",
    "## Sources",
]
FILLED = {"before", "after", "fraction", "metric", "onset", "subject", "unit"}  # by telling.py, for every signature
HEDGING = re.compile(r"\b(may|might|possibly|perhaps|seems?|likely indicates|powerful|blazing|simply)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    stage: str
    aliases: frozenset[str]


def _listed() -> dict[str, _Listed]:
    with IDS.open(encoding="utf-8", newline="") as lines:
        return {
            row["id"]: _Listed(stage=row["stage"], aliases=frozenset(filter(None, row["aliases"].split(";"))))
            for row in csv.DictReader(lines)
        }


def _markdown(one: Entry) -> Path:
    return ROOT / "src" / (one.module.replace(".", "/") + ".md")


SHIPPED = [one for one in entries() if one.module.startswith("rlprobe.")]
PAGED = [one for one in SHIPPED if _markdown(one).is_file()]
every = pytest.mark.parametrize("one", SHIPPED, ids=lambda one: one.signature.id)
every_page = pytest.mark.parametrize("one", PAGED, ids=lambda one: one.signature.id)


def _everything_logged() -> Run:
    """A run that logs each metric of the registry, families by two members, without anything wrong on purpose."""
    names = [
        name for metric in METRICS for name in ([metric.name + m for m in "ab"] if metric.family else [metric.name])
    ]
    return columns_run({name: course(0.2, 0.8, 60, noise=0.02, seed=i) for i, name in enumerate(names)})


@pytest.fixture(scope="module")
def logged() -> Memory:
    run = _everything_logged()
    condensed = Condensed(run)
    condensed.extend(run.rows)
    return Memory(run, condensed)


def test_every_listed_id_has_a_signature_and_every_signature_is_listed() -> None:
    assert sorted(one.signature.id for one in SHIPPED) == sorted(_listed())


def test_every_signature_has_its_page() -> None:
    assert [one.signature.id for one in SHIPPED if one not in PAGED] == []


def test_no_page_is_left_without_its_signature() -> None:
    assert sorted(Path(catalog.signatures.__path__[0]).glob("*/*.md")) == sorted(_markdown(one) for one in PAGED)


@every
def test_its_file_and_folder_are_named_after_it(one: Entry) -> None:
    signature = one.signature

    assert one.module.split(".")[-2:] == [signature.stage, signature.id.lower()]
    assert _listed()[signature.id].stage == signature.stage


@every
def test_its_aliases_are_the_listed_ones_and_resolve(one: Entry) -> None:
    signature = one.signature
    owners = {alias: {id for id, row in _listed().items() if alias in row.aliases} for alias in signature.aliases}

    assert _listed()[signature.id].aliases <= set(signature.aliases)
    for alias in signature.aliases:
        assert entry(alias.lower().replace("_", "-")).signature.id in owners[alias] | {signature.id}


@every
def test_its_words_keep_the_house_rules(one: Entry) -> None:
    signature = one.signature
    sentences = (signature.explanation, signature.record, *(advice.text for advice in signature.remedies))

    assert len(signature.title) <= 60
    assert not re.search(r"\d", signature.title)
    assert not HEDGING.search(" ".join((signature.title, *sentences)))
    assert all(sentence.endswith(".") for sentence in sentences)
    assert signature.remedies


@every
def test_its_metrics_and_settings_are_canonical(one: Entry) -> None:
    signature = one.signature
    required = [name for names in signature.requires for name in names.split("|")]
    shown = [name.replace("{subject}", "x") for name in signature.shows if name != "{subject}"]
    settings = {advice.setting for advice in signature.remedies if advice.setting}

    assert [name for name in (*required, *signature.helps, *shown) if find(name) is None] == []
    assert settings <= {setting.name for setting in SETTINGS}
    assert signature.shows


@every
def test_its_thresholds_say_what_they_are(one: Entry) -> None:
    names = [threshold.name for threshold in one.signature.thresholds]

    assert len(set(names)) == len(names)
    for threshold in one.signature.thresholds:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", threshold.name)
        assert threshold.unit
        assert len(threshold.meaning.split()) >= 3
        assert threshold.low <= threshold.value <= threshold.high
        assert threshold.low < threshold.high


@every
def test_its_explanation_can_be_filled(one: Entry, logged: Memory) -> None:
    limits = {threshold.name: threshold.value for threshold in one.signature.thresholds}
    rows = Rows(logged, scope="test " + one.signature.id, limits=limits, alarm=5.0, start=0, stop=60)

    judged = one.judge(rows)
    judgements = (judged,) if isinstance(judged, Judgement) else judged
    calm = one.signature.calm.explanation if one.signature.calm else ""
    placeholders = set(re.findall(r"\{(\w+)\}", one.signature.explanation + calm))

    assert judgements
    for judgement in judgements:
        assert placeholders <= FILLED | set(judgement.facts)
        told = {name for name in judgement.facts if not name.startswith(ABOUT)}
        assert told <= placeholders | FILLED


@every
def test_its_judge_gives_one_answer_a_row(one: Entry, logged: Memory) -> None:
    limits = {threshold.name: threshold.value for threshold in one.signature.thresholds}
    rows = Rows(logged, scope="rows " + one.signature.id, limits=limits, alarm=5.0, start=0, stop=60)

    judged = one.judge(rows)

    for judgement in (judged,) if isinstance(judged, Judgement) else judged:
        arrays = (judgement.fires, judgement.log_evidence, judgement.holds, judgement.critical, judgement.explained)
        assert {len(array) for array in (*arrays, judgement.since, *judgement.facts.values()) if array is not None} == {
            60
        }
        assert judgement.fires.dtype == np.bool_
        assert np.isposinf(judgement.log_evidence[judgement.fires]).all() or one.signature.arm != "exact"


@every_page
def test_its_page_has_exactly_the_headings(one: Entry) -> None:
    text = _markdown(one).read_text(encoding="utf-8")
    headings = re.findall(r"^#+ .*$", text, flags=re.MULTILINE)

    assert headings == [f"# {one.signature.id}", *HEADINGS]
    sections = re.split(r"^#+ .*$", text, flags=re.MULTILINE)[2:]
    assert all(section.strip() for section in sections)


@every_page
def test_its_page_fills_every_placeholder_from_the_code(one: Entry) -> None:
    raw = _markdown(one).read_text(encoding="utf-8")
    names = {threshold.name for threshold in one.signature.thresholds}

    assert set(re.findall(r"\{([a-z_]\w*)\}", raw)) <= names
    assert not re.search(r"\{[a-z_]\w*\}", page(one.signature.id))


@every_page
def test_its_page_names_only_what_there_is(one: Entry) -> None:
    """Other signatures, lab runs and files that the page sends its reader to."""
    text = page(one.signature.id)
    known = {o.signature.id for o in entries()} | {n.normal.id for n in normals()}
    runs = {f.name for f in faults()} | {v.name for v in variants()}

    assert set(re.findall(r"\b[A-Z]{2,}(?:_[A-Z]+)+\b", text)) <= known | set(one.signature.aliases)
    assert set(re.findall(r"rlprobe demo ([a-z][\w-]*)", text)) <= runs
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert link.startswith("https://") or (_markdown(one).parent / link.split("#")[0]).is_file()


def test_a_threshold_on_a_page_is_the_one_in_the_code() -> None:
    text = page("entropy_collapse")
    floor = next(t for t in entry("ENTROPY_COLLAPSE").signature.thresholds if t.name == "floor")

    assert f"Below {floor.value:g} of the start" in text


def test_ids_are_found_in_any_case_and_spelling() -> None:
    assert entry("entropy-collapse").signature.id == "ENTROPY_COLLAPSE"
    assert entry("late_collapse").signature.id == "REWARD_COLLAPSE"


def test_an_unknown_id_names_the_closest_in_one_line() -> None:
    with pytest.raises(UnknownSignature) as error:
        entry("ENTROPY_COLAPSE\n" + 200 * "x")

    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 250
    with pytest.raises(UnknownSignature, match=r"Closest: ENTROPY_COLLAPSE"):
        entry("ENTROPY_COLAPSE")


def test_the_order_of_the_catalog_is_a_constant() -> None:
    order = [(one.signature.stage, one.signature.id) for one in entries()]

    assert order == sorted(order)
    assert len({id for _, id in order}) == len(order)
