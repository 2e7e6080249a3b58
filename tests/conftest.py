"""What holds for every test: one thread of linear algebra, set before numpy is loaded, and no recorder left open."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from rlprobe.cli import THREADS

for name in THREADS:
    os.environ.setdefault(name, "1")

from rlprobe.recorder import lifelines  # noqa: E402  # it loads numpy

_WHOLE_FILE = {
    mark: re.compile(rf"^pytestmark = (\[[^\]]*)?pytest\.mark\.{mark}\b", re.MULTILINE) for mark in ("slow", "trl")
}
settings.register_profile("rlprobe", deadline=None)  # how long an example takes says how busy the machine is
settings.load_profile("rlprobe")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file whose every test is left out is not even imported: torch, TRL and their like take seconds to load."""
    asked = config.option.markexpr.split(" and ")
    left_out = [sign for mark, sign in _WHOLE_FILE.items() if f"not {mark}" in asked]
    if not left_out or not collection_path.match("test_*.py"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    return True if any(sign.search(text) for sign in left_out) else None


@pytest.fixture(autouse=True)
def _no_recorder_outlives_its_test() -> Iterator[None]:
    """A trainer that a test leaves in the middle of training has an open recorder, which the next tests would meet."""
    before = {id(recorder) for recorder in lifelines.live()}  # those of fixtures that several tests share
    yield
    for recorder in lifelines.live():
        if id(recorder) not in before:
            recorder.close()
