"""Every id has a page, every page its sections, and what is added to the written text is true."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from rlprobe.doctor import catalog
from rlprobe.doctor.calibration import confidence, counted
from rlprobe.doctor.charts import POINTS, chart
from rlprobe.doctor.normal import Normal
from rlprobe.lab import faults, variants
from rlprobe.recording.metrics import find
from rlprobe.recording.settings import setting
from rlprobe.reports import catalog_page
from rlprobe.reports import chart as drawing
from rlprobe.verifier import catalog as checks
from rlprobe.verifier import page as check_page
from rlprobe.verifier import page_texts as texts
from rlprobe.verifier.engine import verify
from rlprobe.verifier.outcome import STAGES
from rlprobe.verifier.selftest import mutants
from rlprobe.verifier.selftest.mutant import load

SIGNATURES = [one.signature for one in catalog.entries() if one.module.startswith("rlprobe.")]
CHECKS = [one.check for one in checks.entries()]
OPTIONAL = {"The settings, by trainer", "Checks of your code"}
YEAR = re.compile(r"\b(?:19|20)\d\d[,)]| (?:19|20)\d\d\.$")
every_signature = pytest.mark.parametrize("one", SIGNATURES, ids=lambda one: one.id)
every_check = pytest.mark.parametrize("one", CHECKS, ids=lambda one: one.id)


def _sections(text: str) -> dict[str, str]:
    _, *pieces = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return {heading: body.strip() for heading, body in zip(pieces[::2], pieces[1::2], strict=True)}


def _bullets(section: str) -> list[str]:
    return [" ".join(bullet.split()) for bullet in re.split(r"^- ", section, flags=re.MULTILINE)[1:]]


def test_every_id_has_one_page_and_every_page_begins_with_its_id() -> None:
    ids = catalog_page.ids()

    assert len(set(ids)) == len(ids)
    assert {*ids} == {*(s.id for s in SIGNATURES), *(n.normal.id for n in catalog.normals()), *(c.id for c in CHECKS)}
    for id in ids:
        told, text = catalog_page.page(id.lower())
        assert told == id
        assert id in text.splitlines()[0]
        assert "{" not in re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL).replace("{ε", "")


@every_signature
def test_a_signature_has_its_sections_in_order(one: catalog.Signature) -> None:
    sections = _sections(catalog_page.page(one.id)[1])
    wanted = [heading for heading in catalog_page.SIGNATURE_HEADINGS if heading not in OPTIONAL or heading in sections]

    assert list(sections) == wanted
    assert all(sections.values())
    assert one.title in catalog_page.page(one.id)[1]


@pytest.mark.parametrize("one", [one.normal for one in catalog.normals()], ids=lambda one: one.id)
def test_a_reassurance_has_its_sections(one: Normal) -> None:
    sections = _sections(catalog_page.page(one.id)[1])

    assert list(sections) == [
        "What you see", "What must be there", "What is said", "What must be logged", "Taken back by",
    ]  # fmt: skip
    assert all(sections.values())


@every_signature
def test_every_setting_of_a_remedy_is_named_as_each_trainer_names_it(one: catalog.Signature) -> None:
    text = catalog_page.page(one.id)[1]

    for name in {advice.setting for advice in one.remedies} - {""}:
        assert setting(name).spelled in text, name


@every_signature
def test_sources_have_a_year_or_are_threads(one: catalog.Signature) -> None:
    for source in _bullets(_sections(catalog_page.page(one.id)[1])["Sources"]):
        dated = YEAR.search(source) or re.search(r"#\d+|^Public run logs", source)
        assert dated, source


@every_signature
def test_how_sure_is_the_measured_frequency(one: catalog.Signature) -> None:
    sure = _sections(catalog_page.page(one.id)[1])["How sure"]
    told, (right, count) = confidence(one), counted(one.id)

    assert told.value is not None
    assert f"{100 * told.value:.0f} %" in sure
    assert f"{right} of {count}" in sure or count == 0


@every_signature
def test_a_chart_shows_a_fault_that_leads_to_it_beside_a_healthy_run(one: catalog.Signature) -> None:
    drawn = chart(one.id)

    assert drawn is not None
    assert one.id in next(fault for fault in faults() if fault.name == drawn.fault).signatures
    assert drawn.calm in {variant.name for variant in variants()}
    assert 1 <= drawn.onset <= drawn.steps
    assert drawn.curves
    for curve in drawn.curves:
        assert find(curve.metric) is not None
        assert {len(curve.fault), len(curve.calm) or POINTS} == {POINTS}
    shown = drawing.text(drawn)
    assert max(map(len, shown.splitlines())) <= 78
    drawing_tree = ElementTree.fromstring(drawing.svg(drawn, one.id))
    assert len(drawing_tree.findall("{*}path")) >= 3 * len(drawn.curves)
    assert not re.search(r"href|url\(|<script|<image|nan", drawing.svg(drawn, one.id))


def test_an_unknown_metric_unit_and_a_gap_break_no_chart() -> None:
    drawn = chart("NUMERIC_NAN")

    assert drawn is not None
    assert "×" in drawing.text(drawn)
    assert "M" in drawing.svg(drawn, "a <b> & c")
    assert "a &lt;b&gt; &amp; c" in drawing.svg(drawn, "a <b> & c")


@every_check
def test_a_check_has_its_sections_in_order(one: checks.Check) -> None:
    sections = _sections(catalog_page.page(one.id)[1])

    assert tuple(sections) == check_page.HEADINGS
    assert all(len(body) > 15 for body in sections.values())
    assert one.formula in sections["What must hold"]
    assert one.fix in sections["What to do when it fails"]
    assert all(YEAR.search(source) for source in _bullets(sections["Sources"])), sections["Sources"]
    for cause in one.causes:
        assert f"- {cause}: " in sections["What to record"]


@every_check
def test_a_formula_fits_a_line_and_a_wrong_line_differs_from_the_right_one(one: checks.Check) -> None:
    looks = _sections(catalog_page.page(one.id)[1])["What it looks like"]
    block = looks.partition("```text\n")[2].partition("\n```")[0]
    right, _, wrong = block.partition("\nwrong:  ")

    assert len(one.formula) <= 90
    assert wrong.strip()
    assert right.removeprefix("right:  ") != wrong


def test_what_checks_share_is_said_of_every_stage_and_pitfall() -> None:
    assert set(texts.LOOK_ALIKES) == set(texts.RECORD) == set(texts.STAGE_SOURCES) == set(STAGES)
    assert {check.category for check in CHECKS} == set(texts.MECHANICS)
    assert set(texts.CHECK_SETTINGS) | set(texts.WRITTEN) <= {check.id for check in CHECKS}
    for first, last, _ in texts.RANGE_SOURCES:
        assert {first, last} <= {check.id for check in CHECKS}


@pytest.mark.parametrize("id", ["V103", "V208", "V305", "V402", "V501", "V705"])
def test_the_bug_on_a_page_is_found_by_its_check_and_says_what_the_page_says(id: str) -> None:
    """The whole table is measured by `python -m bench.catalog.checks`; some of it is tried here."""
    row = check_page.measured(id)
    bug = mutants.named(str(row["base"]), str(row["mutant"]))
    if "import torch" in bug.text():
        pytest.importorskip("torch")

    (found,) = [result for result in verify(load(bug.text(), bug.id)).findings if result.id == id]

    assert found.outcome.statement.startswith(str(row["said"]).removesuffix(" …")[:40])


def test_the_table_of_checks_is_of_the_checks_and_bugs_that_there_are() -> None:
    for check in CHECKS:
        row = check_page.measured(check.id)
        assert ("mutant" in row) is (row["found"] != 0), check.id
        assert "mutant" in row or check.id in texts.WRITTEN, f"run `python -m bench.catalog.checks {check.id}`"
        if "mutant" in row:
            assert mutants.named(str(row["base"]), str(row["mutant"])).text()


def test_a_signature_of_another_package_keeps_its_own_page(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = catalog.entry("KL_BLOWUP")
    foreign = catalog.Entry(signature=kept.signature, judge=kept.judge, module="json")
    monkeypatch.setattr(catalog, "entry", lambda name: foreign)
    monkeypatch.setattr(catalog, "page", lambda name: "# KL_BLOWUP\n\nOne sentence.\n")

    assert catalog_page.page("KL_BLOWUP") == ("KL_BLOWUP", "# KL_BLOWUP\n\nOne sentence.\n")
