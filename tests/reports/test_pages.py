import json
import os
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.doctor.finding import Diagnosis, Remedy
from rlprobe.reports import json as json_report
from rlprobe.reports import markdown, terminal
from rlprobe.reports.outline import outline
from tests.reports.diagnoses import ALL, ENTROPY, FAILING, LENGTH_HACK, NAN, TRUNCATION
from tests.reports.snapshots import check

NAMES = tuple(ALL)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_page_is_as_it_was_last_read(name: str, width: int):
    page = terminal.render(ALL[name], width=width, color=False)

    check(f"{name}-{width}.txt", page)
    assert max(map(len, page.splitlines())) <= width


def test_the_verbose_page_lists_what_each_missing_signature_needs():
    page = terminal.render(FAILING, width=80, color=False, verbose=True)

    check("failing-verbose-80.txt", page)
    assert all(entry.how in page for entry in FAILING.not_checked)


@pytest.mark.parametrize("name", NAMES)
def test_the_json_document_is_as_it_was_last_read(name: str):
    check(f"{name}.json", json_report.render(ALL[name]))


@pytest.mark.parametrize("name", NAMES)
def test_the_markdown_page_is_as_it_was_last_read(name: str):
    check(f"{name}.md", markdown.render(ALL[name]))


@pytest.mark.parametrize("render", [json_report.render, markdown.render, terminal.svg])
def test_the_same_diagnosis_gives_the_same_bytes(render):
    assert render(FAILING) == render(replace(FAILING))


def test_the_terminal_page_depends_on_its_arguments_alone(monkeypatch):
    before = terminal.render(FAILING, width=80, color=True)
    for name, value in {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "30", "FORCE_COLOR": "1"}.items():
        monkeypatch.setitem(os.environ, name, value)

    assert terminal.render(FAILING, width=80, color=True) == before
    assert "\x1b[" in before
    assert "\x1b" not in terminal.render(FAILING, width=80, color=False)


def test_every_finding_stands_in_exactly_one_place():
    arranged = outline(FAILING)

    placed = [chapter.root for chapter in arranged.chapters]
    placed += [finding for chapter in arranged.chapters for finding in chapter.consequences]
    placed += arranged.others
    assert sorted(finding.key for finding in placed) == sorted(finding.key for finding in FAILING.findings)


def test_an_incident_whose_members_are_missing_from_the_findings_is_still_told():
    arranged = outline(replace(FAILING, findings=(LENGTH_HACK, NAN)))

    assert [chapter.root.key for chapter in arranged.chapters] == [LENGTH_HACK.key]
    assert arranged.chapters[0].consequences == ()
    assert arranged.others == (NAN,)


def test_a_first_mover_is_not_called_a_cause():
    told = terminal.render(replace(FAILING, findings=(replace(LENGTH_HACK, relation="first_mover"), ENTROPY)), **WIDE)

    assert "What came with it" in told
    assert "What followed from it" not in told


WIDE = {"width": 120, "color": False}


def test_the_json_document_has_the_fields_of_the_contract_in_its_order():
    document = json.loads(json_report.render(FAILING))

    assert list(document) == [
        "schema", "run", "verdict", "sentence", "incidents", "findings", "next", "checked", "not_checked",
        "reassurances", "recording",
    ]  # fmt: skip
    assert list(document["findings"][0]) == [
        "key", "id", "subject", "stage", "severity", "confidence", "confidence_interval", "confidence_examples",
        "confidence_pooled", "onset_step", "onset_interval", "detected_step", "status", "recovered_step", "root",
        "consequence_of", "relation", "title", "explanation", "evidence", "remedies", "samples", "rollback_step",
        "confirm", "page",
    ]  # fmt: skip
    assert list(document["run"]) == ["source", "format", "algorithm", "steps", "rows", "segments", "state"]
    assert list(document["findings"][0]["evidence"][0]) == [
        "metric", "unit", "before", "after", "statistic", "log_evidence", "steps",
    ]  # fmt: skip


def test_json_rounds_to_six_digits_and_spells_out_what_is_not_finite():
    document = json.loads(json_report.document({"x": [1 / 3, float("nan"), float("-inf"), float("inf"), 10**20, True]}))

    assert document["x"] == [0.333333, "nan", "-inf", "inf", 10**20, True]


def test_json_is_ascii_so_that_foreign_text_cannot_steer_a_terminal():
    text = json_report.render(replace(FAILING, source="\x1b[31m\x9b\u202eevil"))

    assert text.isascii()
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text) is None
    assert json.loads(text)["run"]["source"] == "\x1b[31m\x9b\u202eevil"


HOSTILE = st.lists(
    st.sampled_from(
        ["\x1b[31m", "\x1b]0;x\x07", "\x9b2J", "\u202e", "[red]", "[/]", "\r", "\n", "|", "`", "<b>", "\ud800", "a"]
    ),
    max_size=12,
).map("".join)  # fmt: skip


def poisoned(text: str) -> Diagnosis:
    """The failing diagnosis with a foreign text everywhere where text can be foreign."""
    finding = replace(
        LENGTH_HACK,
        subject=text,
        title=text,
        explanation=text,
        samples=(text,),
        page=text,
        evidence=tuple(replace(entry, metric=text, unit=text) for entry in LENGTH_HACK.evidence),
        remedies=(Remedy(text=text, setting="s" + text, current=text, suggested=text),),
    )  # fmt: skip
    return replace(
        FAILING,
        source=text,
        algorithm=text,
        format=text,
        state=text,
        sentence=text,
        findings=(finding, ENTROPY, replace(TRUNCATION, consequence_of=text)),
        incidents=tuple(replace(entry, first_mover=text) for entry in FAILING.incidents),
        not_checked=tuple(replace(entry, id=text, missing=(text,), how=text) for entry in FAILING.not_checked),
        reassurances=tuple(replace(entry, id=text, title=text, explanation=text) for entry in FAILING.reassurances),
        notes=(text,),
    )


@settings(max_examples=40)  # three whole pages each
@given(HOSTILE)
def test_no_page_lets_foreign_text_reach_the_terminal_as_control(text: str):
    for page in (
        terminal.render(poisoned(text), width=80, color=False, verbose=True),
        markdown.render(poisoned(text)),
        json_report.render(poisoned(text)),
    ):
        assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", page) is None


def test_markup_in_foreign_text_is_shown_letter_by_letter():
    page = terminal.render(replace(FAILING, sentence="[red]not red[/red] [link=x]y"), width=120, color=True)

    assert "[red]not red[/red] [link=x]y" in page


@pytest.mark.parametrize(
    "text", ["<script>", "# head", "- item", "1. item", "a|b", "*bold* _x_", "&lt;", "@someone", "``", "$x$"]
)
def test_markdown_escapes_what_it_would_otherwise_read(text: str):
    page = markdown.render(replace(FAILING, sentence=text, notes=(text,)))

    assert re.sub(r"\\(?=[^a-z\s])", "", markdown.words(text)) == text
    assert f"- {text}\n" not in page
    assert markdown.words(text) in page


def test_a_code_span_is_fenced_by_more_backticks_than_it_holds():
    assert markdown.code("a``b") == "``` a``b ```"
    assert markdown.code("plain") == "`plain`"


def test_the_picture_holds_the_page_and_loads_nothing():
    picture = terminal.svg(FAILING)

    assert "REWARD_HACK_LENGTH" in picture
    assert picture.count("http") == picture.count('xmlns="http://www.w3.org/2000/svg"') + picture.count(
        "https://www.textualize.io"
    )
    assert "@font-face" not in picture
