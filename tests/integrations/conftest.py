"""Fixtures for tests that train with a real TRL trainer."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integrations.memory_recorder import MemoryRecorder

for name, value in {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "CI": "1", "OMP_NUM_THREADS": "1"}.items():
    os.environ.setdefault(name, value)


@pytest.fixture(scope="session")
def sorter(pytestconfig: pytest.Config) -> Path:
    """The folder of the taught tiny model; taught once, then kept in pytest's cache."""
    import torch

    from tests.integrations import tiny_model

    torch.set_num_threads(1)
    return tiny_model.taught(pytestconfig.cache.mkdir("rlprobe-trl"))


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook that fails fails its test, where training would go on."""
    monkeypatch.setenv("RLPROBE_STRICT_HOOKS", "1")


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> "type[MemoryRecorder]":
    """A recorder that keeps everything in memory in the place of the one that writes."""
    from tests.integrations.memory_recorder import MemoryRecorder  # it loads transformers

    monkeypatch.setattr("rlprobe.integrations.trl_callback.Recorder", MemoryRecorder)
    return MemoryRecorder
