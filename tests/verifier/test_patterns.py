"""A pattern of a reward function becomes a text that it finds."""

import re

import pytest

from rlprobe.verifier.measure.patterns import ANSWER, REASONING, example_of


@pytest.mark.parametrize(
    ("pattern", "example"),
    [
        (r"^[\s]{0,}<begin>.+?<end>.*?<S>(.+?)</S>[\s]{0,}$", "<begin>@R<end>@R<S>@A</S>"),
        (r"(?i)Answer\s*:\s*([^\n]+)", "Answer:@A"),
        (r"answer is:?\s*(-?[\d.]+\d|-?\d)", "answer is@A"),
        (r"^<think>\n?(.*?)\n?</think>\s*<answer>\n?(.*?)\n?</answer>\s*$", "<think>@R</think><answer>@A</answer>"),
        (r"<choice>\s*([A-D])\s*</choice>", "<choice>@A</choice>"),
        (r"The (?:final )?answer is\s+\$?(?P<given>-?\d+(?:\.\d+)?)", "The answer is @A"),
        (r"^(?=.*<note>)(?!.*error).*<out>([\s\S]*?)</out>", "@R<note>@R<out>@A</out>"),
        (r"total = [0-9]+", "total = @A"),
    ],
)
def test_the_example_has_a_place_for_the_answer_and_is_found(pattern, example):
    assert example_of(pattern) == example
    assert re.search(pattern, example.replace(REASONING, "So.").replace(ANSWER, "B" if "A-D" in pattern else "42"))


@pytest.mark.parametrize("pattern", [r"<(\w+)>(.*)</\1>", "(", "a" * 500, r"x(?<=y)"])
def test_what_cannot_be_written_gives_none(pattern):
    assert example_of(pattern) is None
