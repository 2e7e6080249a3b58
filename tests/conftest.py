"""What holds for every test: one thread of linear algebra, set before numpy is loaded, and no recorder left open."""

import os
from collections.abc import Iterator

import pytest

from rlprobe.cli import THREADS

for name in THREADS:
    os.environ.setdefault(name, "1")

from rlprobe.recorder import lifelines  # noqa: E402  # it loads numpy


@pytest.fixture(autouse=True)
def _no_recorder_outlives_its_test() -> Iterator[None]:
    """A trainer that a test leaves in the middle of training has an open recorder, which the next tests would meet."""
    before = {id(recorder) for recorder in lifelines.live()}  # those of fixtures that several tests share
    yield
    for recorder in lifelines.live():
        if id(recorder) not in before:
            recorder.close()
