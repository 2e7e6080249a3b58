"""Each reassurance speaks where its look-alike is normal, and is silent where the same sight is a failure."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from rlprobe.doctor.catalog import entries, normals
from rlprobe.doctor.condense import Condensed
from rlprobe.doctor.engine import MOST_REASSURANCES, diagnose
from rlprobe.doctor.memory import Memory
from rlprobe.doctor.normal import Normal
from rlprobe.doctor.reassurance_page import page
from rlprobe.doctor.rows import Rows
from rlprobe.recording.metrics import METRICS, find
from rlprobe.recording.run import Metadata, Run
from tests.support.corpus import Label, labels
from tests.support.runs import columns_run, course, real_run

NORMALS: dict[str, Normal] = {one.normal.id: one.normal for one in normals()}
IDS = sorted(NORMALS)

# Real runs in which it is told, the last step that is read (None: all of it), in the order of the catalog.
REAL: dict[str, tuple[str, int | None]] = {
    "ENTROPY_FALLS_WITH_MASTERY": ("verl-b10", None),
    "ISOLATED_SPIKE": ("unsloth-27", 30),
    "LOSS_NEAR_ZERO": ("custom-02", None),
    "LOSS_RISING_FROM_ZERO": ("unsloth-16", None),
    "MASTERED_GROUPS": ("unsloth-16", None),
    "NEGATIVE_REWARDS": ("verl-04", None),
    "NOISY_REWARD": ("unsloth-18", None),
    "NO_CLIPPING_ON_ONE_PASS": ("verl-13", None),
    "PLACEHOLDER_COLUMNS": ("custom-01", None),
    "REWARD_STD_SHRINKS_AT_CEILING": ("unsloth-09", None),
    "SHORTER_AND_BETTER": ("unsloth-22", None),
    "SLIGHTLY_NEGATIVE_KL": ("verl-09", None),
    "STEP_TIME_FOLLOWS_LENGTH": ("verl-09", None),
    "TRUNCATION_FALLS": ("unsloth-24", None),
    "VALUE_LOSS_WARMUP": ("verl-b07", None),
}


def _noisy(low: float, high: float, noise: float = 0.05, seed: int = 0, rows: int = 80) -> np.ndarray:
    return course(low, high, rows, noise=noise, seed=seed)


def _lengths(seed: int = 1) -> np.ndarray:
    return course(200, 500, noise=60, seed=seed)


def _peaks_of(length: np.ndarray) -> np.ndarray:
    return 4e10 + 2e7 * np.maximum.accumulate(length)


# Hand-made runs for those that no run of the corpus shows.
MADE: dict[str, Callable[[], Run]] = {
    "KL_ABSENT": lambda: columns_run({"reward_mean": _noisy(0, 1)}, settings={"kl_coefficient": 0.0}),
    "SECOND_EOS": lambda: columns_run(
        {
            "reward_mean": _noisy(0.2, 0.8),
            "truncated_fraction": np.full(80, 0.97),
            "completion_tokens_mean": _noisy(400, 420, 20),
            "completion_tokens_min": _noisy(90, 95, 5),
            "completion_tokens_max": _noisy(900, 950, 50),
        },
        settings={"max_completion_tokens": 2048},
    ),
    "MEMORY_FOLLOWS_LENGTH": lambda: columns_run(
        {"reward_mean": _noisy(0.2, 0.8), "completion_tokens_max": _lengths(), "memory_bytes": _peaks_of(_lengths())}
    ),
}

_RISING, _FLAT = _noisy(0.2, 0.9), _noisy(0.3, 0.3)
_SPIKE = np.where(np.arange(80) == 40, 5.0, _noisy(0.1, 0.1, 0.01))
_TWICE = np.where(np.isin(np.arange(80), (30, 45, 60)), 5.0, _noisy(0.1, 0.1, 0.01))
_EMPTIED = np.maximum(_noisy(300, -60, 1), 2.0)
_BETA = {"kl_coefficient": 0.04}


class _Case(NamedTuple):
    columns: Mapping[str, np.ndarray]
    settings: Mapping[str, object] = {}  # nothing writes it
    estimator: str = ""


# What looks the same and is a failure, or is not known to be none.
LOOKALIKES: dict[str, list[_Case]] = {
    "ENTROPY_FALLS_WITH_MASTERY": [_Case({"entropy_mean": _noisy(1, 0.3), "reward_mean": _FLAT})],
    "ISOLATED_SPIKE": [
        _Case({"kl_mean": np.where(np.arange(80) >= 40, 5.0, _SPIKE)}),
        _Case({"grad_norm": _TWICE}),
    ],
    "KL_ABSENT": [
        _Case({"reward_mean": _RISING}, _BETA),
        _Case({"reward_mean": _RISING}),
        _Case({"reward_mean": _RISING, "kl_mean": _noisy(0, 1)}, {"kl_coefficient": 0.0}),
    ],
    "LOSS_NEAR_ZERO": [
        _Case({"loss": np.zeros(80), "grad_norm": np.zeros(80), "reward_mean": _FLAT}),
        _Case({"loss": np.zeros(80), "grad_norm": np.ones(80), "reward_mean": np.zeros(80)}),
        _Case({"loss": np.zeros(80), "kl_mean": np.full(80, 1e-5), "reward_mean": _FLAT}),
    ],
    "LOSS_RISING_FROM_ZERO": [
        _Case({"loss": _noisy(0, 1, 0.01), "kl_mean": _noisy(0, 1, 0.01), "reward_mean": _RISING}, _BETA),
        _Case({"loss": course(0, 0.4), "kl_mean": course(0, 10), "reward_mean": -_RISING}, _BETA),
    ],
    "MASTERED_GROUPS": [
        _Case({"zero_variance_group_fraction": _noisy(0, 0.9), "reward_mean": _FLAT}),
        _Case(
            {
                "zero_variance_group_fraction": _noisy(0, 0.9),
                "all_right_group_fraction": np.zeros(80),
                "reward_mean": _RISING,
            }
        ),
    ],
    "MEMORY_FOLLOWS_LENGTH": [
        _Case({"memory_bytes": course(4e10, 6e10), "completion_tokens_max": _noisy(300, 310, 60)}),
        _Case({"memory_bytes": course(4e10, 6e10), "completion_tokens_max": _lengths()}),
    ],
    "NEGATIVE_REWARDS": [_Case({"reward_mean": _FLAT - 5}), _Case({"reward_mean": -_RISING})],
    "NOISY_REWARD": [_Case({"reward_mean": _noisy(0, 0, 1)}), _Case({"reward_mean": _RISING})],
    "NO_CLIPPING_ON_ONE_PASS": [
        _Case({"clip_fraction": np.zeros(80), "grad_norm": np.ones(80)}),
        _Case({"clip_fraction": np.zeros(80), "grad_norm": np.ones(80)}, {"updates_per_rollout": 4}),
        _Case({"clip_fraction": np.zeros(80), "grad_norm": np.zeros(80)}, {"updates_per_rollout": 1}),
        _Case(
            {"clip_fraction": np.zeros(80), "ratio_mean": _noisy(1, 1, 0.01), "grad_norm": np.ones(80)},
            {"updates_per_rollout": 1},
        ),
    ],
    "PLACEHOLDER_COLUMNS": [
        _Case({"entropy_mean": np.where(np.arange(80) > 5, 0.0, 0.4), "reward_mean": _RISING}),
        _Case({"grad_norm": np.zeros(80), "kl_mean": _noisy(0.1, 1), "reward_mean": _RISING}),
        _Case({"kl_mean": np.zeros(80), "reward_mean": _RISING}, {"kl_coefficient": 0.0}),
        _Case({"kl_mean": np.zeros(80), "reward_mean": _RISING}, {"kl_coefficient": 0.1}),
        _Case({"entropy_mean": np.zeros(80), "reward_mean": np.zeros(80)}),
    ],
    "REWARD_STD_SHRINKS_AT_CEILING": [
        _Case({"reward_std_group_mean": _noisy(0.5, 0.1, 0.01), "reward_mean": -_RISING}),
        _Case(
            {
                "reward_std_group_mean": _noisy(0.5, 0.1, 0.01),
                "reward_mean": _RISING,
                "reward_max": np.where(np.arange(80) < 40, 3.0, 1.0),
            }
        ),
    ],
    "SECOND_EOS": [
        _Case(
            {"truncated_fraction": np.full(80, 0.97), "completion_tokens_mean": _noisy(2000, 2000, 10)},
            {"max_completion_tokens": 2048},
        ),
        _Case(
            {"truncated_fraction": np.full(80, 0.1), "completion_tokens_mean": _noisy(400, 400, 10)},
            {"max_completion_tokens": 2048},
        ),
    ],
    "SHORTER_AND_BETTER": [
        _Case({"completion_tokens_mean": _noisy(300, 100, 5), "reward_mean": _FLAT}),
        _Case({"completion_tokens_mean": _EMPTIED, "reward_mean": _RISING}),
    ],
    "SLIGHTLY_NEGATIVE_KL": [
        _Case({"kl_mean": _noisy(-0.1, -0.1, 0.01)}, estimator="k1"),
        _Case({"kl_mean": _noisy(0, 0, 0.002)}, estimator="k3"),
        _Case({"kl_mean": np.full(80, -0.001)}, estimator="k1"),
    ],
    "STEP_TIME_FOLLOWS_LENGTH": [
        _Case(
            {"step_seconds": _noisy(30, 60, 1), "completion_tokens_mean": _noisy(300, 300, 5), "reward_mean": _RISING}
        ),
        _Case({"step_seconds": _noisy(30, 60, 1), "completion_tokens_mean": _noisy(300, 600, 5), "reward_mean": _FLAT}),
    ],
    "TRUNCATION_FALLS": [
        _Case({"truncated_fraction": _noisy(0.9, 0.1), "reward_mean": -_RISING}),
        _Case(
            {
                "truncated_fraction": _noisy(0.9, 0.1),
                "completion_tokens_mean": _EMPTIED,
                "reward_mean": _RISING,
            }
        ),
    ],
    "VALUE_LOSS_WARMUP": [
        _Case({"value_loss": _noisy(1, 3, 0.1), "reward_mean": _RISING}),
        _Case({"value_loss": np.concatenate([course(10, 0.2, 40), course(0.2, 3, 40)]), "reward_mean": _RISING}),
    ],
}


def _holds(run: Run, id: str) -> np.ndarray:
    """(rows,) what the judge says at each row, whatever the signatures say."""
    condensed = Condensed(run)
    stop = condensed.extend(run.rows)
    entry = next(one for one in normals() if one.normal.id == id)
    rows = Rows(Memory(run, condensed), scope=id, limits={}, alarm=0.0, start=0, stop=stop)
    return entry.judge(rows).holds


def _told(run: Run, until: int | None = None) -> set[str]:
    return {one.id for one in diagnose(run, until=until).reassurances}


def test_every_reassurance_has_a_run_in_which_it_speaks_and_a_lookalike() -> None:
    assert sorted(REAL.keys() | MADE.keys()) == IDS
    assert sorted(LOOKALIKES) == IDS


@pytest.mark.parametrize("id", sorted(REAL))
def test_it_is_told_of_a_real_run(id: str) -> None:
    name, until = REAL[id]

    assert id in _told(real_run(name), until)


@pytest.mark.parametrize("id", sorted(MADE))
def test_it_is_told_of_a_made_run(id: str) -> None:
    assert id in _told(MADE[id]())


@pytest.mark.parametrize(("id", "case"), [(id, i) for id in sorted(LOOKALIKES) for i in range(len(LOOKALIKES[id]))])
def test_it_is_silent_on_its_lookalike(id: str, case: int) -> None:
    columns, settings, estimator = LOOKALIKES[id][case]
    run = columns_run(columns, settings=settings, metadata={"kl_mean": Metadata(estimator=estimator)})

    assert not _holds(run, id)[-1]


def test_a_spike_is_normal_only_after_rows_that_are_back() -> None:
    holds = _holds(columns_run({"kl_mean": _SPIKE}), "ISOLATED_SPIKE")

    assert not holds[:50].any()
    assert holds[50:].all()


def test_a_loss_that_is_beta_times_kl_is_named_with_its_beta() -> None:
    run = real_run("unsloth-01")

    told = next(one for one in diagnose(run).reassurances if one.id == "LOSS_NEAR_ZERO")

    assert "beta 0.04 times a KL of 0.0153" in told.explanation
    assert {line.metric for line in told.evidence} == {"grad_norm", "kl_mean"}


def test_the_zeros_that_a_user_posted_are_explained_after_five_rows() -> None:
    """Numbers of the log in huggingface/trl issue 3452."""
    posted = {
        "loss": [0.0, 0.0, 0.0, 0.0, 0.0],
        "grad_norm": [0.0866, 0.0967, 0.1059, 0.1036, 0.0992],
        "reward_mean": [1.717, 1.884, 1.680, 1.969, np.nan],
        "reward_std_group_mean": [0.570, 0.749, 0.631, 0.787, np.nan],
        "kl_mean": [0.000537, 0.000539, 0.000534, 0.000528, np.nan],
    }

    assert _told(columns_run(posted)) == {"LOSS_NEAR_ZERO"}


def test_a_placeholder_column_is_named_and_others_are_not() -> None:
    told = next(one for one in diagnose(real_run("custom-01")).reassurances if one.id == "PLACEHOLDER_COLUMNS")

    assert [line.metric for line in told.evidence] == ["entropy_mean", "kl_mean"]
    assert "entropy_mean and kl_mean" in told.explanation


def test_a_finding_takes_the_reassurance_back() -> None:
    """This reward crept up to -1, at which every answer was the same."""
    run = real_run("verl-b03")

    findings = {one.id for one in diagnose(run).findings}
    assert _holds(run, "SHORTER_AND_BETTER")[-1]
    assert findings & set(NORMALS["SHORTER_AND_BETTER"].unless)
    assert not _told(run)


def test_nothing_is_reassuring_beside_a_critical_finding() -> None:
    """A loss that is beta times KL, in a run whose gradients are not numbers."""
    broken = np.where(np.arange(80) > 60, np.inf, 1.0)
    columns = {"loss": course(0, 0.4), "kl_mean": course(0, 10), "reward_mean": _RISING, "grad_norm": broken}

    diagnosis = diagnose(columns_run(columns, settings=_BETA))

    assert diagnosis.verdict == "failing"
    assert diagnosis.reassurances == ()


@pytest.mark.slow
@pytest.mark.parametrize("label", [one for one in labels() if one.verdict == "failing"], ids=lambda one: one.id)
def test_nobody_is_reassured_about_a_failing_run(label: Label) -> None:
    assert not _told(real_run(label.id))


@pytest.mark.slow
@pytest.mark.parametrize("label", [one for one in labels() if one.verdict == "healthy"], ids=lambda one: one.id)
def test_a_page_holds_at_most_three(label: Label) -> None:
    assert len(diagnose(real_run(label.id)).reassurances) <= MOST_REASSURANCES


@pytest.mark.parametrize("normal", NORMALS.values(), ids=lambda normal: normal.id)
def test_its_words_keep_the_house_rules(normal: Normal) -> None:
    texts = (normal.worry, normal.asks, normal.explanation, normal.title)

    assert len(normal.title) <= 60
    assert not re.search(r"\d", normal.title)
    assert not re.search(r"\b(may|might|possibly|seems|perhaps)\b", " ".join(texts), flags=re.IGNORECASE)
    assert 1 <= normal.weight <= 9
    assert set(normal.unless) <= {entry.signature.id for entry in entries()}


@pytest.mark.parametrize("normal", NORMALS.values(), ids=lambda normal: normal.id)
def test_its_metrics_are_canonical(normal: Normal) -> None:
    names = [name for required in normal.requires for name in required.split("|")]

    assert all(find(name) is not None for name in (*names, *normal.shows))


@pytest.mark.parametrize("id", IDS)
def test_every_placeholder_is_filled_and_every_fact_is_used(id: str) -> None:
    """On a run that logs every metric of the registry, whatever it says of it."""
    columns = {metric.name: course(0.1, 0.9, 60) for metric in METRICS if not metric.family}
    run = columns_run(columns)
    condensed = Condensed(run)
    rows = Rows(Memory(run, condensed), scope=id, limits={}, alarm=0.0, start=0, stop=condensed.extend(60))
    entry = next(one for one in normals() if one.normal.id == id)

    facts = set(entry.judge(rows).facts)

    assert set(re.findall(r"\{(\w+)\}", entry.normal.explanation + entry.normal.also)) - {"metrics"} == facts


def test_the_page_is_made_of_the_registry() -> None:
    written = Path(__file__).parents[2] / "docs" / "reassurances.md"

    assert written.read_text(encoding="utf-8") == page(), "python -m rlprobe.doctor.reassurance_page > " + str(written)
