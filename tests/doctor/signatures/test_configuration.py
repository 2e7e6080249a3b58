"""Settings that cannot work are told from the first row, and unusual ones that work are not."""

from collections.abc import Mapping

import numpy as np
import pytest

from rlprobe.doctor.engine import diagnose
from rlprobe.doctor.finding import Finding
from rlprobe.recording.run import Manifest, MemoryFeed, Run, batch_from_columns
from tests.support.runs import columns_run, course

SOUND: Mapping[str, object] = {
    "learning_rate": 1e-6, "group_size": 8, "clip_low": 0.2, "clip_high": 0.28, "temperature": 1.0, "top_p": 1.0,
    "top_k": 0, "kl_coefficient": 0.0, "entropy_coefficient": 0.0, "updates_per_rollout": 1, "warmup_steps": 10,
    "max_steps": 500, "sampler_correction": True, "sync_reference": False, "mask_truncated": True,
}  # fmt: skip


def _told(settings: Mapping[str, object], algorithm: str = "grpo", rows: int = 3) -> list[Finding]:
    columns = {"reward_mean": course(0.2, 0.3, rows), "truncated_fraction": np.full(rows, 0.1)}
    run = columns_run(columns, settings={**SOUND, **settings}, algorithm=algorithm)
    return [one for one in diagnose(run).findings if one.id == "CONFIG_MISUSE"]


@pytest.mark.parametrize(
    ("settings", "severity"),
    [
        ({"group_size": 1}, "critical"),
        ({"learning_rate": 0.0}, "critical"),
        ({"updates_per_rollout": 0}, "critical"),
        ({"warmup_steps": 500}, "warning"),
        ({"clip_high": 0.1}, "warning"),
        ({"temperature": 0.0}, "warning"),
        ({"top_k": 1, "sampler_correction": False}, "warning"),
        ({"entropy_coefficient": -0.01}, "warning"),
        ({"top_p": 0.95}, "warning"),
        ({"top_k": 50}, "warning"),
        ({"sync_reference": True}, "warning"),
    ],
)
def test_a_setting_that_cannot_work_is_told_at_the_first_row(settings: Mapping[str, object], severity: str) -> None:
    (one,) = _told(settings)
    assert (one.severity, one.onset_step, one.status) == (severity, 0, "active")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"group_size": 2},
        {"clip_high": 0.2},
        {"clip_high": None},
        {"warmup_steps": 0.1},
        {"max_steps": -1},
        {"top_p": 0.95, "sampler_correction": False},
        {"top_k": -1},
        {"sync_reference": True, "kl_coefficient": 0.04},
        {"learning_rate": "linear"},
        {"temperature": True},
    ],
)
def test_a_setting_that_works_or_cannot_be_read_is_silent(settings: Mapping[str, object]) -> None:
    assert not _told(settings)


def test_one_sample_a_prompt_is_right_for_an_algorithm_with_a_critic() -> None:
    assert not _told({"group_size": 1}, algorithm="ppo")


def test_a_setting_that_was_only_inferred_is_never_blamed() -> None:
    manifest = Manifest(algorithm="grpo", settings={"group_size": 1}, inferred_settings=frozenset({"group_size"}))
    batch = batch_from_columns(np.arange(3), {"reward_mean": course(0.2, 0.3, 3)}, manifest=manifest)
    assert not [one for one in diagnose(Run(MemoryFeed("memory", [batch]))).findings if one.id == "CONFIG_MISUSE"]


def test_masked_truncation_is_told_once_nearly_all_is_cut() -> None:
    columns = {"truncated_fraction": np.minimum(course(0.3, 1.3, 60), 1.0), "reward_mean": course(0.2, 0.3, 60)}
    run = columns_run(columns, settings={"mask_truncated": True})
    (one,) = [f for f in diagnose(run).findings if f.id == "CONFIG_MISUSE"]
    assert one.subject is not None
    assert "truncated" in one.subject


def test_a_reference_that_is_the_policy_makes_the_kl_term_inert() -> None:
    manifest = Manifest(algorithm="grpo", settings={"kl_coefficient": 0.04}, configuration={"reference": "policy"})
    batch = batch_from_columns(np.arange(3), {"reward_mean": course(0.2, 0.3, 3)}, manifest=manifest)
    assert [one.id for one in diagnose(Run(MemoryFeed("memory", [batch]))).findings] == ["CONFIG_MISUSE"]
