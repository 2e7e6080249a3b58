"""docs/reliability.md names tests; each is there."""

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "reliability.md"
NAMED = re.compile(r"`((?:\.\./recording/)?test_\w+\.py)(?: -k (\w+))?`")


@pytest.mark.skipif(not PAGE.exists(), reason="documentation is not installed")
def test_every_test_that_the_page_names_is_there():
    named = NAMED.findall(PAGE.read_text(encoding="utf-8"))

    assert len(named) > 20
    for file, word in named:
        tests = re.findall(r"^def (test_\w+)", (HERE / file).read_text(encoding="utf-8"), re.MULTILINE)
        assert [name for name in tests if word in name], f"{file} -k {word}"
