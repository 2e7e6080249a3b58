import re
import unicodedata

from hypothesis import example, given, settings
from hypothesis import strategies as st

from rlprobe.forensics.repeats import loops, repeated_fraction, repeated_spans
from rlprobe.reports.visible import pieces


def shown(text, room=400, find=()):
    """The shown text, with every piece that is not plain in brackets of its kind."""
    return "".join(
        piece.text if piece.kind == "text" else f"{piece.kind}[{piece.text}]"
        for piece in pieces(text, room=room, find=find)
    )


def test_what_goes_round_is_shown_a_few_times_and_counted():
    assert shown("So " + "I think " * 50 + "stop") == "So repeated[I think I think ]note[⟨48 times more⟩]stop"
    assert shown("<000>" * 9) == "repeated[<000><000><000>]note[⟨6 times more⟩]"
    assert shown("haha! ----") == "haha! ----"


@settings(max_examples=80, deadline=None)
@given(
    before=st.text(alphabet="ab c", max_size=12),
    unit=st.text(alphabet="xy z", min_size=1, max_size=9),
    rounds=st.integers(4, 30),
    after=st.text("q ", max_size=9),
)
def test_a_loop_is_the_stretch_that_it_claims_to_be(before, unit, rounds, after):
    text = before + unit * rounds + after
    for loop in loops(text):
        stretch = text[loop.start : loop.end]
        assert stretch == stretch[: loop.unit] * loop.rounds
    if len(unit) * rounds >= 8:
        assert sum(loop.end - loop.start for loop in loops(text)) >= len(unit) * (rounds - 1) - len(before + after)


def test_words_that_came_before_are_marked_where_they_come_again():
    text = "the cat sat down and then the cat sat down again"
    assert [text[a:b] for a, b in repeated_spans(text)] == ["the cat sat down"]
    assert repeated_fraction("a b c d a b c d") == 1 - 4 / 5
    assert repeated_fraction("a b c") == 0.0


def test_tokens_and_signs_that_hide_are_shown():
    assert shown("hi<|im_end|>\x1b[2J\u202eevil\n\tx\x00") == (
        "hispecial[<|im_end|>]control[␛][2Jcontrol[⟨U+202E⟩]evilcontrol[↵\n␉]xcontrol[␀]"
    )
    assert "e\u0301\u0301control[⟨U+0301⟩]x" in shown("e\u0301\u0301\u0301x")
    assert shown("\ud800") == "control[⟨U+D800⟩]"
    assert shown("Paris is a city", find=("CITY",)) == "Paris is a found[city]"


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300), st.integers(20, 400))
@example("ab" * 600 + "\x9b31m", 60)
def test_no_text_steers_a_terminal_or_is_lost_in_silence(text, room):
    out = pieces(text, room=room)
    plain = "".join(piece.text for piece in out)
    assert all(unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for c in plain if c != "\n")
    if "\n" not in plain and all(piece.kind == "text" for piece in out):
        assert plain == text
    if not any(piece.kind in ("note", "control") for piece in out):
        assert plain == text


def test_a_megabyte_of_one_line_is_cut_in_the_middle_and_the_rest_counted():
    text = "".join(f"w{index} " for index in range(170_000))
    out = shown(text, room=300)

    left = int(re.search(r"([\d,]+) characters left out", out)[1].replace(",", ""))
    kept = len(re.sub(r"note\[.*?\]", "", out))
    assert left + kept == len(text)
    assert out.startswith("w0 w1")
    assert out.endswith("w169999 ")
