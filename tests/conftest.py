"""What holds for every test: one thread of linear algebra, set before numpy is loaded, and no recorder left open."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlprobe.cli import THREADS

for name in THREADS:
    os.environ.setdefault(name, "1")

from rlprobe.recorder import lifelines  # noqa: E402  # it loads numpy

_WHOLE_FILE = re.compile(r"^pytestmark = (?:\[[^\]]*)?pytest\.mark\.(trl|slow)\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file whose every test is left out is not even imported: torch, TRL and their like take seconds to load."""
    if "not " not in config.option.markexpr or not collection_path.match("test_*.py"):
        return None
    marks = _WHOLE_FILE.findall(collection_path.read_text(encoding="utf-8"))
    return True if any(f"not {mark}" in config.option.markexpr for mark in marks) else None


@pytest.fixture(autouse=True)
def _no_recorder_outlives_its_test() -> Iterator[None]:
    """A trainer that a test leaves in the middle of training has an open recorder, which the next tests would meet."""
    before = {id(recorder) for recorder in lifelines.live()}  # those of fixtures that several tests share
    yield
    for recorder in lifelines.live():
        if id(recorder) not in before:
            recorder.close()
