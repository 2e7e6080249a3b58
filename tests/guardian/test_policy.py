import json
from dataclasses import replace
from pathlib import Path

import pytest

from rlprobe.doctor.finding import Finding
from rlprobe.guardian.control import ask, request
from rlprobe.guardian.policy import Decision, decide
from rlprobe.guardian.settings import Policy
from rlprobe.recording.run import Event
from tests.guardian.stories import diagnosis, finding
from tests.support.runs import columns_run

STRICT = Policy()


def halted_by(*findings: Finding, policy: Policy = STRICT, asked: list[str] | None = None) -> str | None:
    decision = decide(diagnosis(*findings, together=True), policy, asked or [])
    return None if decision is None else decision.finding.id


EXACT = finding("ADVANTAGE_INVALID", severity="critical", log_evidence=None, stage="advantages")
STRONG = finding("KL_BLOWUP", severity="critical", log_evidence=20.0)
WITNESS = finding("REWARD_COLLAPSE", onset=15, after="KL_BLOWUP@10", stage="reward", metric="reward_mean")


def test_an_exact_critical_violation_halts_by_itself() -> None:
    assert halted_by(EXACT) == "ADVANTAGE_INVALID"


def test_statistics_halt_only_with_very_strong_evidence_and_a_witness() -> None:
    weak = finding("KL_BLOWUP", severity="critical", log_evidence=9.0)

    assert halted_by(STRONG, WITNESS) == "KL_BLOWUP"
    assert halted_by(STRONG) is None
    assert halted_by(weak, WITNESS) is None


@pytest.mark.parametrize(
    "witness",
    [
        finding("REWARD_COLLAPSE", onset=15, stage="reward", metric="reward_mean"),  # not in the chain
        finding("ENTROPY_COLLAPSE", onset=15, after="KL_BLOWUP@10", metric="entropy_mean"),  # the same stage
        finding("REWARD_COLLAPSE", onset=15, after="KL_BLOWUP@10", stage="reward", metric="kl_mean"),  # the same metric
        finding("REWARD_COLLAPSE", onset=15, after="KL_BLOWUP@10", stage="reward", metric="x", severity="info"),
        finding("REWARD_COLLAPSE", onset=15, after="KL_BLOWUP@10", stage="reward", metric="x", recovered=29),
    ],
    ids=["alone", "stage", "metric", "info", "recovered"],
)
def test_a_witness_is_an_active_alarm_in_the_chain_of_another_stage_and_metric(witness: Finding) -> None:
    assert halted_by(STRONG, witness) is None


def test_a_cause_above_is_a_witness_too_over_what_lies_between() -> None:
    cause = finding("LR_ANOMALY", onset=2, stage="optimization", metric="learning_rate")
    between = finding("ENTROPY_EXPLOSION", onset=5, after=cause.key, metric="entropy_mean")
    below = finding("KL_BLOWUP", severity="critical", after=between.key, log_evidence=20.0)

    assert halted_by(cause, between, below) == "KL_BLOWUP"


@pytest.mark.parametrize("severity", ["warning", "info"])
def test_what_is_not_critical_does_not_halt(severity: str) -> None:
    assert halted_by(finding("ADVANTAGE_INVALID", severity=severity, log_evidence=None)) is None


def test_what_is_over_does_not_halt() -> None:
    assert halted_by(finding("ADVANTAGE_INVALID", severity="critical", log_evidence=None, recovered=29)) is None


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Policy(exact=False), None),
        (Policy(never=("ADVANTAGE_INVALID",)), None),
        (Policy(only=("KL_BLOWUP",)), None),
        (Policy(only=("ADVANTAGE_INVALID",)), "ADVANTAGE_INVALID"),
        (Policy(first_step=31), None),
        (Policy(first_step=30), "ADVANTAGE_INVALID"),
    ],
)
def test_the_policy_is_obeyed(policy: Policy, expected: str | None) -> None:
    assert halted_by(EXACT, policy=policy) == expected


def test_more_witnesses_or_none_may_be_asked_for() -> None:
    assert halted_by(STRONG, WITNESS, policy=Policy(witnesses=2)) is None
    assert halted_by(STRONG, policy=Policy(witnesses=0)) == "KL_BLOWUP"
    assert halted_by(STRONG, WITNESS, policy=Policy(statistical=False)) is None


def test_an_episode_asks_once() -> None:
    assert halted_by(EXACT, asked=["ADVANTAGE_INVALID@20"]) is None
    assert halted_by(EXACT, asked=["ADVANTAGE_INVALID@3"]) == "ADVANTAGE_INVALID"


def decision() -> Decision:
    made = decide(diagnosis(STRONG, WITNESS, together=True), STRICT, [])
    assert made is not None
    return made


def test_the_request_holds_reason_evidence_and_the_way_back(tmp_path: Path) -> None:
    saved = [Event(kind="checkpoint", step=5, fields={"path": "out/checkpoint-5"})]
    run = columns_run({"reward_mean": [0.0]}, events=saved)

    assert ask(tmp_path, decision(), run)
    document = json.loads((tmp_path / "control.json").read_text())
    assert document["request"] == "halt"
    assert document["reason"].startswith("KL_BLOWUP since step 10: kl_mean 0.1 → 3")
    assert "log evidence 20, with REWARD_COLLAPSE since step 15" in document["reason"]
    assert document["findings"] == ["KL_BLOWUP@10", "REWARD_COLLAPSE@15"]
    assert document["evidence"] == [{"metric": "kl_mean", "before": 0.1, "after": 3.0, "unit": "", "log_evidence": 20}]
    assert (document["rollback_step"], document["rollback_checkpoint"]) == (5, "out/checkpoint-5")


def test_a_request_that_is_there_already_stays(tmp_path: Path) -> None:
    (tmp_path / "control.json").write_text("{}")

    assert not ask(tmp_path, decision(), columns_run({"reward_mean": [0.0]}))
    assert (tmp_path / "control.json").read_text() == "{}"


def test_numbers_that_json_lacks_are_words() -> None:
    broken = finding("NUMERIC_NAN", severity="critical", log_evidence=None)
    lines = (replace(broken.evidence[0], after=float("nan")),)
    made = Decision(finding=replace(broken, evidence=lines), witnesses=(), judged_step=3)

    json.dumps(request(made, columns_run({"loss": [0.0]})), allow_nan=False)
