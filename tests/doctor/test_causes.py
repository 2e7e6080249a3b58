"""Findings become incidents: roots above consequences, each finding once, whatever order they come in."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.doctor.catalog import entries
from rlprobe.doctor.causes import SLACK, order, reaches
from rlprobe.doctor.finding import Confidence, Evidence, Finding, Incident
from rlprobe.doctor.mechanisms import EDGES

STAGES = {entry.signature.id: entry.signature.stage for entry in entries()}
STEPS = (0, 1000)


def _finding(
    id: str, onset: int, *, exact: bool = False, low: int | None = None, high: int | None = None, **rest: object
) -> Finding:
    moved = Evidence(
        metric="reward_mean", unit="", before=1.0, after=0.0, statistic="level", log_evidence=9.0, steps=(onset, 1000)
    )
    plain = Finding(
        key=f"{id}@{onset}",
        id=id,
        subject=None,
        stage=STAGES[id],
        severity="warning",
        confidence=Confidence(value=None, interval=None, examples=0, pooled=False),
        onset_step=onset,
        onset_interval=(onset if low is None else low, onset if high is None else high),
        detected_step=onset + 10,
        status="active",
        recovered_step=None,
        root=True,
        consequence_of=None,
        relation="cause" if exact else "first_mover",
        title="",
        explanation="",
        evidence=(moved,),
        remedies=(),
    )
    return replace(plain, **rest)  # type: ignore[arg-type]  # fields of Finding


def _roots(*findings: Finding, unseen: frozenset[str] = frozenset()) -> dict[str, str]:
    """Finding id -> id of its incident's root."""
    _, incidents = order(list(findings), STEPS, unseen)
    return {key.split("@")[0]: incident.root.split("@")[0] for incident in incidents for key in incident.members}


def test_a_consequence_stands_under_its_cause() -> None:
    told, incidents = order([_finding("REWARD_COLLAPSE", 300), _finding("KL_BLOWUP", 200)], STEPS)

    assert [one.id for one in told] == ["KL_BLOWUP", "REWARD_COLLAPSE"]
    assert [one.relation for one in told] == ["first_mover", "consequence"]
    assert told[1].consequence_of == "KL_BLOWUP@200"
    assert not told[1].root
    assert [incident.members for incident in incidents] == [("KL_BLOWUP@200", "REWARD_COLLAPSE@300")]


def test_a_cause_beyond_the_slack_after_its_consequence_is_none() -> None:
    within, beyond = 300 + int(SLACK * 1000), 301 + int(SLACK * 1000)

    assert _roots(_finding("REWARD_COLLAPSE", 300), _finding("KL_BLOWUP", within))["REWARD_COLLAPSE"] == "KL_BLOWUP"
    assert (
        _roots(_finding("REWARD_COLLAPSE", 300), _finding("KL_BLOWUP", beyond))["REWARD_COLLAPSE"] == "REWARD_COLLAPSE"
    )


def test_an_uncertain_onset_may_overlap_its_cause() -> None:
    late = _finding("KL_BLOWUP", 400, low=310, high=500)

    assert _roots(_finding("REWARD_COLLAPSE", 300), late)["REWARD_COLLAPSE"] == "KL_BLOWUP"


def test_exact_evidence_stands_above_statistical() -> None:
    """Both reach each other over the graph, and the statistical one is the earlier."""
    exact = _finding("NUMERIC_NAN", 320, exact=True)
    trend = _finding("KL_BLOWUP", 300, low=290, high=330)

    assert reaches("NUMERIC_NAN", "KL_BLOWUP", frozenset(), frozenset({"VALUE_DIVERGENCE"}))
    assert _roots(trend, exact, unseen=frozenset({"VALUE_DIVERGENCE"}))["KL_BLOWUP"] == "NUMERIC_NAN"
    told, _ = order([exact], STEPS)
    assert told[0].relation == "cause"


def test_a_chain_passes_over_one_unseen_link_and_over_none_that_was_checked() -> None:
    ends = (_finding("REWARD_HACK_LENGTH", 100), _finding("THROUGHPUT_ROT", 200))

    assert _roots(*ends, unseen=frozenset({"LENGTH_EXPLOSION"}))["THROUGHPUT_ROT"] == "REWARD_HACK_LENGTH"
    assert _roots(*ends)["THROUGHPUT_ROT"] == "THROUGHPUT_ROT"


def test_of_two_mutual_causes_the_one_with_the_shorter_chain_goes_first() -> None:
    """KL reaches entropy over truncation, entropy reaches KL at once; KL is the earlier by a row."""
    far, noise = _finding("KL_BLOWUP", 299), _finding("ENTROPY_EXPLOSION", 300)

    assert reaches("KL_BLOWUP", "ENTROPY_EXPLOSION", frozenset({"TRUNCATION_STARVE"}), frozenset())
    assert _roots(far, noise, _finding("TRUNCATION_STARVE", 310))["KL_BLOWUP"] == "ENTROPY_EXPLOSION"


def test_of_two_mutual_causes_a_gauge_comes_last() -> None:
    far, letters = _finding("KL_BLOWUP", 299, severity="critical"), _finding("GIBBERISH", 300)

    assert _roots(far, letters)["KL_BLOWUP"] == "GIBBERISH"


def test_mutual_causes_whose_onsets_are_apart_are_ordered_by_time_alone() -> None:
    far, letters = _finding("KL_BLOWUP", 300, severity="critical"), _finding("GIBBERISH", 400)

    assert _roots(far, letters)["GIBBERISH"] == "KL_BLOWUP"


def test_what_can_cause_nothing_is_read_after_what_can() -> None:
    told, _ = order([_finding("EVAL_GAP", 100), _finding("DEGENERATE_GROUPS", 900)], STEPS)

    assert [one.id for one in told] == ["DEGENERATE_GROUPS", "EVAL_GAP"]


def test_a_recovered_finding_causes_no_active_one() -> None:
    gone = _finding("KL_BLOWUP", 100, status="recovered", severity="info")

    assert _roots(gone, _finding("REWARD_COLLAPSE", 300))["REWARD_COLLAPSE"] == "REWARD_COLLAPSE"


def test_what_needs_attention_is_read_first() -> None:
    gone = _finding("LENGTH_COLLAPSE", 10, status="recovered", severity="info")
    warning, critical = _finding("THROUGHPUT_ROT", 20), _finding("REWARD_CONSTANT", 500, severity="critical")

    told, _ = order([gone, warning, critical], STEPS)

    assert [one.id for one in told] == ["REWARD_CONSTANT", "THROUGHPUT_ROT", "LENGTH_COLLAPSE"]


def test_the_first_mover_is_the_metric_of_the_earliest_finding() -> None:
    early = replace(_finding("KL_BLOWUP", 200).evidence[0], metric="kl_mean")

    _, incidents = order([_finding("REWARD_COLLAPSE", 300), _finding("KL_BLOWUP", 200, evidence=(early,))], STEPS)

    assert incidents[0].first_mover == "kl_mean"


def test_every_edge_joins_two_signatures_and_says_how() -> None:
    for edge in EDGES:
        assert {edge.cause, edge.consequence} <= STAGES.keys()
        assert edge.cause != edge.consequence
        assert len(edge.mechanism.split()) >= 3


def test_no_edge_is_there_twice() -> None:
    assert len({(edge.cause, edge.consequence) for edge in EDGES}) == len(EDGES)


@st.composite
def findings(draw: st.DrawFn) -> list[Finding]:
    """Findings with onsets close enough that every order of causes is possible."""
    out: dict[str, Finding] = {}
    for id in draw(st.lists(st.sampled_from(sorted(STAGES)), max_size=9)):
        onset = draw(st.integers(400, 600))
        one = _finding(
            id,
            onset,
            exact=draw(st.booleans()),
            low=onset - draw(st.integers(0, 100)),
            high=onset + draw(st.integers(0, 100)),
            severity=draw(st.sampled_from(["critical", "warning", "info"])),
            status=draw(st.sampled_from(["active", "active", "recovered"])),
        )
        out[one.key] = one
    return list(out.values())


unseen_ids = st.frozensets(st.sampled_from(sorted(STAGES)), max_size=20)


def _held(told: tuple[Finding, ...], incidents: tuple[Incident, ...], given_keys: set[str]) -> None:
    members = [key for incident in incidents for key in incident.members]
    assert sorted(members) == sorted(given_keys)
    assert [one.key for one in told] == members
    by_key = {one.key: one for one in told}
    slack = SLACK * (STEPS[1] - STEPS[0])
    for incident in incidents:
        assert incident.members[0] == incident.root
        assert by_key[incident.root].root
        for key in incident.members[1:]:
            one = by_key[key]
            assert not one.root
            assert one.relation == "consequence"
            assert one.consequence_of in incident.members
            assert by_key[one.consequence_of].onset_interval[0] <= one.onset_interval[1] + slack
            seen = {key}
            while (above := by_key[key].consequence_of) is not None:
                assert above not in seen
                seen.add(above)
                key = above
            assert key == incident.root


@pytest.mark.slow
@settings(deadline=None, max_examples=400)
@given(some=findings(), unseen=unseen_ids)
def test_every_finding_is_in_one_incident_and_every_chain_ends_at_its_root(
    some: list[Finding], unseen: frozenset[str]
) -> None:
    told, incidents = order(some, STEPS, unseen)

    _held(told, incidents, {one.key for one in some})


@pytest.mark.slow
@settings(deadline=None)
@given(some=findings(), unseen=unseen_ids, data=st.data())
def test_the_order_they_come_in_changes_nothing(
    some: list[Finding], unseen: frozenset[str], data: st.DataObject
) -> None:
    assert order(data.draw(st.permutations(some)), STEPS, unseen) == order(some, STEPS, unseen)


def test_a_ring_of_findings_has_one_root() -> None:
    """A critic's failure, KL and NaN cause one another in the graph."""
    ring = [_finding(id, 500) for id in ("VALUE_DIVERGENCE", "KL_BLOWUP", "NUMERIC_NAN")]

    told, incidents = order(ring, STEPS)

    assert len(incidents) == 1
    _held(told, incidents, {one.key for one in ring})


def test_a_ring_that_ranks_cannot_order_is_cut_at_its_first() -> None:
    """Each reaches the next over one unseen link only, so that no two of them reach each other both ways."""
    ring = [
        _finding("REPETITION_SPIRAL", 516, exact=True, severity="info"),
        _finding("TRUNCATION_STARVE", 502, exact=True),
        _finding("LENGTH_EXPLOSION", 497, exact=True, severity="critical"),
    ]
    hidden = frozenset({"ENTROPY_EXPLOSION", "REPETITION_SPIRAL", "TRUNCATION_STARVE", "REWARD_COLLAPSE", "KL_BLOWUP"})

    told, incidents = order(ring, STEPS, hidden)

    _held(told, incidents, {one.key for one in ring})
    assert incidents[0].root == "LENGTH_EXPLOSION@497"
