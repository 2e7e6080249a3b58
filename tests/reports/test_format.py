import math
import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rlprobe.doctor.finding import Confidence, Evidence, Remedy
from rlprobe.reports import format as say
from rlprobe.reports import phrases

FORBIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


@given(st.text())
@example("\x1b[31mred\x1b[0m")
@example("\x1b]0;title\x07after")
@example("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\")
@example("\x1b\x1b[31m[31mnested")
@example("\x9b31mred")
@example("a\u202eb\u2066c")
@example("\ud800")
def test_plain_text_never_steers_a_terminal_and_is_stable(text: str):
    shown = say.plain(text)

    assert FORBIDDEN.search(shown) is None
    assert say.plain(shown) == shown
    shown.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("an unfinished \x1b]0;title", "an unfinished 0;title"),
        ("two\nlines\tand a tab", "two lines and a tab"),
        ("[red]stays[/]", "[red]stays[/]"),
        ("名前 naïve ✓", "名前 naïve ✓"),
        (None, "None"),
    ],
)
def test_plain_text_keeps_what_a_person_can_read(text: object, shown: str):
    assert say.plain(text) == shown


@given(st.text(), st.integers(1, 50))
def test_a_cut_text_is_never_longer_than_its_limit(text: str, limit: int):
    assert len(say.cut(text, limit)) <= limit


def test_a_cut_text_ends_in_an_ellipsis():
    assert say.cut("abcdef", 4) == "abc…"
    assert say.cut("abcd", 4) == "abcd"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"), (math.nan, "NaN"), (math.inf, "Inf"), (-math.inf, "-Inf"), (0.0, "0"), (-0.0, "0"),
        (1e-300, "1e-300"),
        (0.84123, "0.841"), (0.001, "0.001"), (0.00099, "9.9e-4"), (1e-6, "1e-6"), (12.0, "12"), (999.6, "1,000"),
        (1234.5, "1,234"), (999_999.0, "999,999"), (1_234_567.0, "1.23e6"), (-4096.0, "-4,096"),
    ],
)  # fmt: skip
def test_a_number_has_three_digits_or_every_whole_one(value: float | None, shown: str):
    assert say.number(value) == shown


@given(st.floats(-1e308, 1e308))
def test_a_shown_number_is_within_half_a_percent(value: float):
    shown = float(say.number(value).replace(",", ""))

    assert math.isclose(shown, value, rel_tol=0.005, abs_tol=1e-320)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.35, "0.35 s"), (42.0, "42 s"), (250.0, "4 min 10 s"), (7500.0, "2 h 5 min"), (273600.0, "3 d 4 h"),
        (-90.0, "-1 min 30 s"), (math.nan, "NaN"),
    ],
)  # fmt: skip
def test_a_duration_is_said_as_a_person_says_it(seconds: float, shown: str):
    assert say.duration(seconds) == shown


def test_a_quantity_carries_its_unit_where_the_metric_does_not_say_it():
    assert say.quantity(0.84, "nats/token") == "0.84 nats/token"
    assert say.quantity(0.5, "fraction") == "0.5"
    assert say.quantity(12.5 * 2**30, "bytes") == "12.5 GiB"
    assert say.quantity(3.0, "bytes") == "3 bytes"
    assert say.quantity(90.0, "seconds") == "1 min 30 s"
    assert say.quantity(1_700_000_000.0, "seconds") == "2023-11-14 22:13:20 UTC"
    assert say.quantity(1e30, "seconds") == "1e30 s"
    assert say.quantity(math.nan, "bytes") == "NaN"


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (0.84, 0.04, "5 % of baseline"), (1.0, 4.0, "4× baseline"), (1.0, 1.0, "100 % of baseline"),
        (1.0, 0.001, "under 1 % of baseline"), (1.0, 0.0, "0 % of baseline"), (-2.0, -4.0, ""),
        (0.0, 1.0, ""), (-1.0, 1.0, ""), (None, 1.0, ""), (1.0, math.nan, ""), (1e-300, 1e300, ""),
    ],
)  # fmt: skip
def test_a_level_is_compared_with_its_baseline_only_where_a_ratio_means_something(before, after, shown):
    assert say.of_baseline(before, after) == shown


def evidence(**parts: object) -> Evidence:
    usual = Evidence(
        metric="m", unit="tokens", before=1.0, after=2.0, statistic="level", log_evidence=3.0, steps=(4, 9)
    )
    return replace(usual, **parts)


def test_a_change_names_both_levels_the_unit_once_and_the_ratio():
    assert phrases.change(evidence()) == "1 → 2 tokens (2× baseline)"
    assert phrases.change(evidence(before=None, after=math.nan)) == "NaN, steps 4 to 9"
    assert phrases.change(evidence(unit="seconds", before=5.0, after=90.0)) == "5 s → 1 min 30 s (18× baseline)"
    assert phrases.change(evidence(unit="reward", before=-1.0, after=1.0)) == "-1 → 1"


@given(st.lists(st.floats()))
def test_a_sparkline_has_one_bar_a_value(values: list[float]):
    assert len(say.sparkline(values)) == len(values)


def test_a_sparkline_spans_its_own_range_and_marks_what_is_not_finite():
    assert say.sparkline([0.0, 0.5, 1.0]) == "▁▅█"
    assert say.sparkline([2.0, 2.0]) == "▁▁"
    assert say.sparkline([0.0, math.nan, 1.0, math.inf]) == "▁×█×"
    assert say.sparkline([-1.7e308, 1.7e308]) == "▁█"


@given(st.lists(st.floats(allow_nan=False), min_size=1), st.integers(1, 30))
def test_thinning_keeps_the_last_value_and_the_count(values: list[float], count: int):
    kept = say.thinned(values, count)

    assert len(kept) == min(len(values), count)
    assert kept[-1] == values[-1]


def test_confidence_says_what_it_was_measured_on_and_when_it_was_not():
    measured = Confidence(value=0.934, interval=(0.881, 0.964), examples=214, pooled=False)
    pooled = Confidence(value=0.8, interval=None, examples=540, pooled=True)
    unmeasured = Confidence(value=None, interval=None, examples=3, pooled=False)

    assert phrases.confidence(measured) == "confidence 93 % (88 to 96 %), measured on 214 findings of this signature"
    assert phrases.confidence(pooled) == "confidence 80 %, measured on 540 findings of this kind of evidence"
    assert phrases.confidence(unmeasured) == "confidence not measured: too few labelled examples"


def test_a_setting_is_named_with_the_value_of_this_run():
    assert phrases.setting(Remedy(text="", setting="beta", current=0.04, suggested="0.1")) == "beta = 0.04 → 0.1"
    assert phrases.setting(Remedy(text="", setting="beta", suggested="0.1")) == "beta → 0.1"
    assert phrases.setting(Remedy(text="", setting="learning_rate", current=1.25e-6)) == "learning_rate = 1.25e-06"
    assert phrases.setting(Remedy(text="", setting="dtype")) == "setting: dtype"
    assert phrases.setting(Remedy(text="only a sentence")) == ""


def test_a_silence_names_every_metric_that_would_end_it():
    assert phrases.silence("missing", ("a",), 2) == "2 because a is not logged"
    assert phrases.silence("missing", ("a|b", "c"), 1) == "1 because none of a, b is logged and c is not logged"
    assert phrases.silence("too_short", (), 3) == "3 because the run is too short"
    assert phrases.silence("disabled", (), 1) == "1 disabled by configuration"


@given(st.text())
def test_an_ascii_page_is_ascii(text: str):
    assert say.ascii_only(text).isascii()


def test_an_ascii_page_keeps_arrows_and_bars():
    assert say.ascii_only("1 → 2 ▁█ · 5×") == "1 -> 2 .# | 5x"
