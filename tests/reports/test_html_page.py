"""The report as text: complete, escaped, in the order of a finding, the same bytes for the same run."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from bench.report.runs import HOSTILE, hostile, tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.doctor.engine import diagnose
from rlprobe.doctor.finding import Reassurance, Remedy
from rlprobe.recording.run import Batch, Manifest, MemoryFeed, Run, batch_from_columns
from rlprobe.reports.format import plain
from rlprobe.reports.html import palette
from rlprobe.reports.html.course import letter
from rlprobe.reports.html.dossier import Dossier
from rlprobe.reports.html.gather import gather
from rlprobe.reports.html.library import Library
from rlprobe.reports.html.markup import json_block, written
from rlprobe.reports.html.page import render
from tests.reports.diagnoses import ALL, FAILING
from tests.reports.html_pages import NO_LIBRARY, ROWS, Reader, dossier_of, fixed_run, page_of, told
from tests.support.corpus import labels, opened

NASTY = st.text(st.characters(exclude_categories=()), max_size=40) | st.sampled_from(HOSTILE)


@pytest.mark.parametrize("name", ALL)
def test_every_page_is_well_formed_and_asks_for_nothing(name):
    page = Reader(render(told(name), NO_LIBRARY))

    assert page.misplaced == []
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form"), tag
        assert not {"src", "srcset", "action", "data", "poster"} & set(attributes), (tag, attributes)
        assert attributes.get("href", "#").startswith("#"), attributes
        assert not [attribute for attribute in attributes if attribute.startswith("on")]


def test_the_policy_names_both_scripts_and_forbids_the_rest():
    page = render(told("failing"), NO_LIBRARY)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)

    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert policy[1].count("sha256-") == page.count("<script>") == 2
    assert "unsafe-inline" not in policy[1].split("style-src")[0]


def test_a_script_cannot_end_its_own_element():
    closing = "const a = '</script><script>'; // <!--"
    page = Reader(render(told("failing"), Library(script=closing, style="")))

    assert page.misplaced == []
    assert [tag for tag, _ in page.elements].count("script") == 3


@pytest.mark.parametrize("name", ALL)
def test_the_same_dossier_gives_the_same_bytes(name):
    assert render(told(name), NO_LIBRARY) == render(replace(told(name)), NO_LIBRARY)


def test_a_page_tells_everything_that_the_diagnosis_tells():
    text = Reader(render(told("failing"), NO_LIBRARY)).text

    assert FAILING.sentence in text
    for one in FAILING.findings:
        assert one.title in text
        assert one.explanation in text
        assert all(remedy.text in text for remedy in one.remedies)
        assert all(plain(entry.metric) in text for entry in one.evidence)
    assert all(entry.id in text and entry.how in text for entry in FAILING.not_checked)
    assert all(entry.explanation in text for entry in FAILING.reassurances)
    assert all(note in text for note in FAILING.notes)


def test_the_page_has_the_order_of_a_finding():
    text = Reader(render(told("failing"), NO_LIBRARY)).text
    root = FAILING.findings[0]
    parts = [FAILING.sentence, root.title, root.explanation, "What to try", "Charts", "Samples", "Environment", "Why"]

    place = 0
    for part in parts:
        place = text.index(part, place) + len(part)  # raises where it does not come after the part before


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(NASTY)
def test_no_text_changes_the_elements_of_a_page(text):
    plain, nasty = (Reader(render(_everywhere(word), NO_LIBRARY)) for word in ("x" * len(text), text))
    unseen = ("span", ("class", "title"))  # what makes a character visible that has no look

    assert nasty.misplaced == []
    named = {"script", "style", "svg", "pre", "img", "article", "section", "figure", "table"}
    for tag in named:
        assert sum(one == tag for one, _ in nasty.elements) == sum(one == tag for one, _ in plain.elements), tag
    assert {one for one in nasty.shape if one[0] not in ("dt", "p")} <= {*plain.shape, unseen, *_ALSO}
    "".join(nasty.texts).encode("utf-8")  # no lone surrogate is left


_ALSO = {("figcaption", ()), ("figcaption", ("title",))}


def _everywhere(text: str) -> Dossier:
    """A dossier with a text wherever a foreign text can stand."""
    remedies = (Remedy(text=text, setting=text, current=text, suggested=text),)
    findings = tuple(
        replace(one, title=text, explanation=text, subject=text, remedies=remedies, page=text)
        for one in FAILING.findings
    )
    calm = (Reassurance(id=text, title=text, explanation=text),)
    silent = tuple(replace(one, id=text, how=text, missing=(text,)) for one in FAILING.not_checked)
    facts = {"source": text, "sentence": text, "algorithm": text, "notes": (text,), "checked": (text,)}
    diagnosis = replace(FAILING, findings=findings, reassurances=calm, not_checked=silent, **facts)
    return gather(fixed_run(text or "empty"), diagnosis)


@settings(deadline=None)
@given(st.dictionaries(NASTY, NASTY))
def test_json_cannot_end_its_element_and_comes_back_as_it_was(tree):
    block = json_block("data", tree)
    content = block.split(">", 1)[1].rsplit("<", 1)[0]

    assert not set("<>&\u2028") & set(content)
    assert json.loads(content) == tree


@settings(deadline=None)
@given(NASTY)
def test_a_written_text_shows_every_character_or_names_it(text):
    shown = "".join(Reader(f"<pre>{written(text)}</pre>").texts)

    assert not {"\x1b", "\x00", "\u202e", "\u200b", "\ufeff"} & set(shown)
    for character in "<>&\"'":
        assert shown.count(character) == text.count(character)


def test_letters_go_on_after_z():
    assert [letter(place) for place in (0, 25, 26, 51, 52, 701, 702)] == ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]


def test_a_run_of_one_row_has_a_page(tmp_path):
    text = Reader(page_of(tiny(tmp_path))).text

    assert "Too little to say" in text
    assert "reward_mean" in text
    assert "No sample was recorded" in text


def test_a_run_without_rows_has_a_page():
    text = Reader(page_of(Run(MemoryFeed("runs/empty", [])))).text

    assert "No metric was logged" in text


def test_the_charts_draw_the_finding_and_its_numbers():
    page = render(told("failing"), NO_LIBRARY)
    drawn = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    panels = {panel["curves"][0]["name"]: panel for panel in drawn["panels"].values()}

    assert drawn["domain"] == [0, ROWS - 1]
    assert drawn["findings"][0]["interval"] == [205, 220]
    assert drawn["marks"] == {"checkpoint": [200], "evaluation": [100], "resume": [], "end": [[500, "crash"]]}
    tokens = panels["completion_tokens_mean"]
    assert 0 in tokens["findings"]
    assert tokens["leading"] == [0]
    assert tokens["usual"][1] == 205
    assert tokens["usual"][0][1] < 120 + 205
    assert "kl_coefficient" not in panels  # the same in every row: a line, no chart


def test_a_threshold_in_the_metrics_own_unit_is_drawn_and_a_relative_one_is_not():
    rows = 200
    time = np.arange(rows)
    run = Run(
        MemoryFeed(
            "runs/cut",
            [
                batch_from_columns(
                    time.astype(np.int64),
                    {"truncated_fraction": np.where(time < 60, 0.05, 0.97), "reward_mean": np.full(rows, 0.2)},
                    manifest=Manifest(state="closed", algorithm="grpo"),
                )
            ],
        )
    )
    dossier = dossier_of(run)
    cut = next(panel for stage in dossier.stages for panel in stage.panels if panel.metric == "truncated_fraction")

    assert any(dossier.findings[place].id == "TRUNCATION_STARVE" for place in cut.findings)
    assert {"high", "total"} <= {limit.name for limit in cut.limits}
    assert "falling" not in {limit.name for limit in cut.limits}


def test_samples_of_one_prompt_are_shown_early_against_late():
    exhibits = told("failing").samples.exhibits
    first = exhibits[0]

    assert first.same_prompt
    assert [one.step for one in first.early] == [10, 10]
    assert [one.step for one in first.late] == [500, 500]
    assert first.late[-1].rewards == (("plain", 1.0),)


def test_a_run_that_goes_on_says_up_to_where_it_is_shown():
    run = fixed_run()

    assert "still going on" in Reader(render(gather(run, diagnose(run)), NO_LIBRARY)).text


def test_rows_that_a_rewind_replaced_and_values_that_are_none_do_not_break_a_page():
    steps = np.arange(40, dtype=np.int64)
    bad = np.where(steps % 5 == 0, np.nan, np.inf)
    logged = {"loss": (bad, np.ones(40, bool)), "reward_mean": (np.linspace(0, 1, 40), np.ones(40, bool))}
    again = {"reward_mean": (np.linspace(0, 1, 10), np.ones(10, bool))}
    run = Run(
        MemoryFeed(
            "runs/rewound",
            [
                Batch(steps=steps, columns=logged, segments=np.zeros(40, np.int64)),
                Batch(steps=steps[20:30], columns=again, segments=np.ones(10, np.int64)),
            ],
        )
    )
    page = page_of(run)

    assert '"resume":[20]' in page
    assert '"bad":[0,1,2' in page
    assert "no finite value" in page


def test_a_megabyte_of_one_line_is_cut_and_counted(tmp_path):
    page = page_of(hostile(tmp_path))

    assert len(page) < 600_000
    assert "more characters left out" in page


@pytest.mark.parametrize("ground", ["page", "card", "sunken"])
@pytest.mark.parametrize("theme", [1, 2], ids=["light", "dark"])
def test_every_text_can_be_read(ground, theme):
    colours = {token[0]: token[theme] for token in palette.TOKENS}

    for name in palette.ON_CARD:
        assert contrast(colours[name], colours[ground]) >= 4.5, name
    for name in palette.CURVES:
        assert contrast(colours[name], colours[ground]) >= 3, name
    for severity in ("critical", "warning", "info", "healthy"):
        assert contrast(colours[f"{severity}-on"], colours[f"{severity}-fill"]) >= 4.5, severity
        assert contrast(colours["ink"], colours[f"{severity}-soft"]) >= 4.5, severity
    assert contrast(colours["warning"], colours["warning-soft"]) >= 4.5


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours (WCAG 2.2, section 1.4.3)."""
    first, second = sorted(map(luminance, (one, other)), reverse=True)
    return (first + 0.05) / (second + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb (WCAG 2.2, glossary)."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.slow
def test_every_labelled_real_run_has_a_page():
    found = labels()
    if not found:
        pytest.skip("the labelled real runs are not here")
    for label in found[::12]:
        page = Reader(page_of(opened(label)))
        assert page.misplaced == [], label.id
