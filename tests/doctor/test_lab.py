"""Faults that were really trained are named by their mechanism; healthy runs that resemble them raise no alarm."""

import pytest

from rlprobe import lab
from rlprobe.doctor.catalog import entries
from rlprobe.doctor.engine import diagnose
from rlprobe.doctor.finding import Diagnosis, Finding
from tests.support.lab_runs import WHOLE, each, trained
from tests.support.spread import spread

SIGNATURES = {entry.signature.id: entry.signature for entry in entries()}
FAULTS = {fault.name: fault for fault in lab.faults()}
# Faults of the wiring, which a few rows prove, and variants that learn fast.
PROVEN = ("wrong-text", "constant-reward", "mixed-groups", "sign-flip", "frozen-weights", "dropout-on")
CALM = ("healthy-grpo", "healthy-mastery", "healthy-rloo", "healthy-small-groups")
FEW = 60  # steps
LATE = 0.1  # of the run, by which an onset may be off


def _short(name: str, steps: int) -> Diagnosis:
    return diagnose(lab.run_in_memory(name, steps, seed=0))


def _told(diagnosis: Diagnosis) -> list[Finding]:
    """Alarms, and active findings of signatures that are never more than info."""
    return [
        one
        for one in diagnosis.findings
        if one.severity != "info" or (SIGNATURES[one.id].severity == "info" and one.status == "active")
    ]


def _exact(fault: lab.Fault) -> bool:
    return SIGNATURES[fault.signatures[0]].arm == "exact"


@pytest.mark.parametrize("name", spread(PROVEN, few=1))
def test_a_fault_of_the_wiring_is_the_first_finding_after_few_steps(name: str) -> None:
    told = _told(_short(name, FEW))

    assert told[0].id in FAULTS[name].signatures
    assert told[0].root
    assert told[0].onset_step <= 3


@pytest.mark.parametrize("name", spread(CALM, few=1))
def test_a_run_that_learns_raises_no_alarm(name: str) -> None:
    assert [one.id for one in _short(name, 2 * FEW).findings if one.severity != "info"] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", each(FAULTS))
def test_every_fault_is_named(name: str) -> None:
    assert {one.id for one in _told(trained(name).diagnosis)} & set(FAULTS[name].signatures)


@pytest.mark.slow
@pytest.mark.parametrize("name", each(fault.name for fault in lab.faults() if _exact(fault)))
def test_what_is_proven_is_told_first_and_as_a_root(name: str) -> None:
    told = _told(trained(name).diagnosis)

    assert told[0].id in FAULTS[name].signatures
    assert told[0].root


@pytest.mark.slow
@pytest.mark.parametrize("name", each(fault.name for fault in lab.faults() if fault.onset))
def test_a_fault_that_sets_in_late_is_dated(name: str) -> None:
    fault = FAULTS[name]
    answer = next(one for one in _told(trained(name).diagnosis) if one.id in fault.signatures)

    assert fault.onset is not None
    assert abs(answer.onset_step - fault.onset * WHOLE) <= LATE * WHOLE


@pytest.mark.slow
@pytest.mark.parametrize("name", each(variant.name for variant in lab.variants()))
def test_no_healthy_variant_raises_an_alarm(name: str) -> None:
    assert [one.id for one in trained(name).diagnosis.findings if one.severity != "info"] == []


def test_every_signature_that_a_fault_expects_exists() -> None:
    assert {id for fault in lab.faults() for id in fault.signatures} <= SIGNATURES.keys()
