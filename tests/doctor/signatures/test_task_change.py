"""A reward that falls with its prompts or their scoring, and one that falls because the policy is damaged."""

import numpy as np
import pytest

from rlprobe.doctor.engine import diagnose
from rlprobe.doctor.finding import Finding
from rlprobe.recording.run import FloatArray
from tests.support.runs import columns_run, course

BEFORE, AFTER = 120, 80
CALM: dict[str, tuple[float, float]] = {
    "entropy_mean": (0.3, 0.25),
    "kl_mean": (0.05, 0.06),
    "completion_tokens_mean": (300.0, 290.0),
    "grad_norm": (0.2, 0.2),
}


def _policy(**instead: FloatArray) -> dict[str, FloatArray]:
    """Metrics of a policy that stands still, apart from those given."""
    rows = BEFORE + AFTER
    calm = {
        name: course(*ends, rows, noise=0.02 * ends[0], seed=seed) for seed, (name, ends) in enumerate(CALM.items())
    }
    return calm | instead


def _stepped(high: float = 0.8, low: float = 0.1) -> FloatArray:
    after = course(low, low, AFTER, noise=0.03, seed=8)
    return np.concatenate([course(0.15, high, BEFORE, noise=0.03, seed=7), after])


def _then(before: float, after: float) -> FloatArray:
    """A metric that leaves its course for good within the row in which the reward falls."""
    parts = course(before, before, BEFORE, noise=0.02 * before), course(after, after, AFTER, noise=0.02 * after)
    return np.concatenate(parts)


def _told(columns: dict[str, FloatArray], until: int | None = None) -> list[Finding]:
    return [one for one in diagnose(columns_run(columns), until=until).findings if one.id == "REWARD_COLLAPSE"]


def test_a_step_down_without_the_policy_is_told_as_a_change_of_the_task() -> None:
    (told,) = _told({"reward_mean": _stepped()} | _policy())

    assert told.severity == "info"
    assert "prompts or their scoring" in told.explanation
    assert abs(told.onset_step - BEFORE) <= 2


def test_no_row_after_the_change_of_the_task_raises_an_alarm() -> None:
    columns = {"reward_mean": _stepped()} | _policy()

    severities = {one.severity for until in range(BEFORE - 2, BEFORE + AFTER, 3) for one in _told(columns, until)}

    assert severities == {"info"}


def test_harder_prompts_may_raise_the_entropy_at_once_where_the_distance_from_the_reference_stays() -> None:
    (told,) = _told({"reward_mean": _stepped()} | _policy(entropy_mean=_then(0.15, 0.32)))

    assert told.severity == "info"


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [("kl_mean", 0.05, 1.9), ("completion_tokens_mean", 300.0, 9.0), ("format_fraction", 0.95, 0.1)],
)
def test_a_step_down_that_the_policy_takes_part_in_is_a_collapse(name: str, before: float, after: float) -> None:
    (told,) = _told({"reward_mean": _stepped()} | _policy(**{name: _then(before, after)}))

    assert told.severity == "critical"


def test_a_slow_fall_without_the_policy_is_a_change_and_with_growing_entropy_a_collapse() -> None:
    ends = ((0.15, 0.8, BEFORE), (0.8, 0.1, AFTER // 2), (0.1, 0.1, AFTER // 2))
    reward = np.concatenate([course(*one, noise=0.03, seed=7) for one in ends])
    parts = course(0.3, 0.3, BEFORE, noise=0.006), course(0.3, 1.5, AFTER, noise=0.006)
    wild = np.concatenate(parts)

    (calm,) = _told({"reward_mean": reward} | _policy())
    (damaged,) = _told({"reward_mean": reward} | _policy(entropy_mean=wild))

    assert calm.severity == "info"
    assert damaged.severity == "critical"


def test_a_reward_that_is_dead_after_its_step_and_one_without_any_metric_of_the_policy_are_alarms() -> None:
    dead = np.concatenate([_stepped()[:BEFORE], np.zeros(AFTER)])

    assert [one.severity for one in _told({"reward_mean": dead} | _policy())] == ["critical"]
    assert [one.severity for one in _told({"reward_mean": _stepped()})] == ["critical"]


def test_a_collapse_after_a_change_of_the_task_is_a_collapse() -> None:
    learned = np.concatenate([_stepped(0.9, 0.4)[: BEFORE + 20], course(0.0, 0.0, AFTER - 20, noise=0.02)])
    length = np.concatenate([course(300.0, 290.0, BEFORE + 20, noise=5.0), course(20.0, 9.0, AFTER - 20, noise=0.5)])

    (told,) = _told({"reward_mean": learned} | _policy(completion_tokens_mean=length))

    assert told.severity == "critical"


def test_a_short_noisy_run_needs_a_metric_of_the_policy_as_a_witness() -> None:
    wander = np.concatenate([course(0.3, 0.3, 25, noise=0.03), course(0.05, 0.05, 40, noise=0.03)])
    alone, calm = {"reward_mean": wander}, {name: one[:65] for name, one in _policy().items()}

    assert [one.severity for one in _told(alone)] == ["critical"]
    assert not _told(alone | calm)
