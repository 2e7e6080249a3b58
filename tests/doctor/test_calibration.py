"""Confidence is what the shipped table counted, and nothing else."""

import json
from importlib import resources

import pytest

from rlprobe.doctor import calibration
from rlprobe.doctor.catalog import entries

TABLE = json.loads(resources.files(calibration).joinpath("table.json").read_text(encoding="utf-8"))
BY_ID = {entry.signature.id: entry.signature for entry in entries()}


def test_the_table_names_known_signatures_and_arms_and_its_corpus() -> None:
    assert set(TABLE["signatures"]) <= BY_ID.keys()
    assert set(TABLE["arms"]) <= {signature.arm for signature in BY_ID.values()}
    assert len(TABLE["corpus"]) == 16


def test_every_arm_counts_its_own_signatures() -> None:
    sums: dict[str, list[int]] = {}
    for id, (right, count) in TABLE["signatures"].items():
        total = sums.setdefault(BY_ID[id].arm, [0, 0])
        total[0], total[1] = total[0] + right, total[1] + count

    assert sums == TABLE["arms"]


@pytest.mark.parametrize("id", sorted(TABLE["signatures"]))
def test_a_signature_with_few_examples_is_spoken_for_by_its_arm(id: str) -> None:
    found = calibration.confidence(BY_ID[id])
    own = TABLE["signatures"][id]
    right, count = TABLE["arms"][BY_ID[id].arm]
    assert found.value is not None
    assert found.pooled is (own[1] < calibration.ENOUGH)
    assert found.examples == (count if found.pooled else own[1])
    assert found.interval == calibration.wilson(*((right, count) if found.pooled else own))


@pytest.mark.parametrize(
    ("right", "count", "low", "high"),
    [(0, 0, 0.0, 1.0), (0, 10, 0.0, 0.28), (10, 10, 0.72, 1.0), (81, 263, 0.26, 0.37)],
)
def test_the_interval_is_wilsons(right: int, count: int, low: float, high: float) -> None:
    assert calibration.wilson(right, count) == (low, high)
