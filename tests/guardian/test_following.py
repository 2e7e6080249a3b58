"""What is told of findings from look to look, and which of it becomes a message."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.doctor.finding import Diagnosis, Finding
from rlprobe.guardian.following import follow, name_of, rank
from rlprobe.guardian.memory import RunMemory
from rlprobe.guardian.messages import due
from rlprobe.guardian.settings import DEFAULT, GuardianSettings
from tests.guardian.stories import START, diagnosis, finding

EAGER = GuardianSettings(cooldown_seconds=0.0, messages_a_day=10_000)
HOUR = 3600.0


def told(memory: RunMemory, *findings: Finding, step: int = 30) -> list[tuple[str, str]]:
    return [(one.kind, one.name) for one in follow(memory, diagnosis(*findings, step=step))]


def titles(
    memory: RunMemory, now: float, *findings: Finding, together: bool = False, settings: GuardianSettings = EAGER
) -> list[str]:
    state = diagnosis(*findings, together=together)
    follow(memory, state)
    return [one.title for one in due(memory, state, settings, now)]


def test_a_finding_is_told_when_it_comes_changes_and_goes() -> None:
    memory = RunMemory()

    assert told(memory, finding(severity="warning"), step=20) == [("new", "KL_BLOWUP")]
    assert told(memory, finding(severity="warning", onset=12), step=21) == []
    assert told(memory, finding(severity="critical"), step=22) == [("worse", "KL_BLOWUP")]
    assert told(memory, finding(severity="warning"), step=23) == [("eased", "KL_BLOWUP")]
    assert told(memory, finding(recovered=40), step=40) == [("recovered", "KL_BLOWUP")]
    assert told(memory, finding(recovered=40), step=41) == []
    assert told(memory, finding(detected=60), step=60) == [("new", "KL_BLOWUP")]


def test_what_a_rewind_took_back_is_withdrawn_and_may_come_again() -> None:
    memory = RunMemory()
    told(memory, finding(), step=30)

    assert told(memory, step=15) == [("withdrawn", "KL_BLOWUP")]
    assert told(memory, step=16) == []
    assert told(memory, finding(detected=20), step=20) == [("new", "KL_BLOWUP")]


def test_what_came_and_went_between_two_looks_is_not_told_as_new() -> None:
    memory = RunMemory()

    assert told(memory, finding(recovered=25), step=30) == [("passed", "KL_BLOWUP")]
    assert told(memory, finding(recovered=25), step=31) == []


def test_an_episode_that_ended_and_another_that_began_between_two_looks_is_new() -> None:
    memory = RunMemory()
    told(memory, finding(detected=20), step=20)

    assert told(memory, finding(detected=50), step=55) == [("new", "KL_BLOWUP")]


def test_a_detection_that_a_late_value_moved_is_not_a_new_one() -> None:
    memory = RunMemory()
    told(memory, finding(detected=20), step=30)

    assert told(memory, finding(detected=19), step=30) == []


def test_subjects_of_one_signature_are_followed_apart() -> None:
    memory = RunMemory()
    first, second = finding("NUMERIC_NAN", subject="loss"), finding("NUMERIC_NAN", subject="grad_norm")

    assert told(memory, first) == [("new", "NUMERIC_NAN[loss]")]
    assert told(memory, first, second) == [("new", "NUMERIC_NAN[grad_norm]")]


def test_one_message_covers_an_incident_and_what_joins_it() -> None:
    memory = RunMemory()
    root = finding(severity="critical")
    child = finding("LENGTH_EXPLOSION", onset=15, after=root.key, stage="generation")
    late = finding("REPETITION_SPIRAL", onset=22, after=root.key, stage="generation")

    assert titles(memory, START, root, child, together=True) == ["CRITICAL: KL_BLOWUP in runs/night since step 10"]
    assert titles(memory, START + 1, root, child, late, together=True) == []


def test_an_incident_is_told_again_when_it_gets_worse_than_what_was_told() -> None:
    memory = RunMemory()
    root = finding(severity="warning")
    child = finding("REWARD_COLLAPSE", onset=15, after=root.key, severity="critical", stage="reward")

    assert len(titles(memory, START, root)) == 1
    assert titles(memory, START + 1, root, child, together=True) == [
        "CRITICAL: REWARD_COLLAPSE in runs/night since step 15"
    ]


def test_a_recovery_is_told_once_all_of_what_was_told_together_has_recovered() -> None:
    memory = RunMemory()
    root = finding()
    child = finding("LENGTH_EXPLOSION", onset=15, after=root.key)
    titles(memory, START, root, child, together=True)

    assert titles(memory, START + 1, finding(recovered=40), child) == []
    assert titles(memory, START + 2, finding(recovered=40), finding("LENGTH_EXPLOSION", onset=15, recovered=44)) == [
        "RECOVERED: KL_BLOWUP, LENGTH_EXPLOSION in runs/night"
    ]
    assert titles(memory, START + 3, finding(recovered=40), finding("LENGTH_EXPLOSION", onset=15, recovered=44)) == []


def test_the_cooldown_gathers_what_comes_in_between_and_forgets_what_passed() -> None:
    memory = RunMemory()
    first = finding("ENTROPY_COLLAPSE")
    assert len(titles(memory, START, first, settings=DEFAULT)) == 1

    second, passing = finding("CLIP_SATURATION"), finding("GIBBERISH")
    assert titles(memory, START + 60, first, second, passing, settings=DEFAULT) == []
    gone = finding("GIBBERISH", recovered=29)
    assert titles(memory, START + HOUR, first, second, gone, settings=DEFAULT) == [
        "WARNING: CLIP_SATURATION in runs/night since step 10"
    ]


def test_what_is_worse_than_all_that_was_told_does_not_wait() -> None:
    memory = RunMemory()
    first = finding("ENTROPY_COLLAPSE")
    titles(memory, START, first, settings=DEFAULT)

    worse = finding(severity="critical")
    assert len(titles(memory, START + 1, first, worse, settings=DEFAULT)) == 1
    assert titles(memory, START + 2, first, worse, finding("NO_EOS", severity="critical"), settings=DEFAULT) == []


def test_the_cap_holds_for_a_day() -> None:
    few = GuardianSettings(cooldown_seconds=0.0, messages_a_day=2)
    memory = RunMemory()
    seen: list[Finding] = []
    counts = []
    for place, id in enumerate(("ENTROPY_COLLAPSE", "CLIP_SATURATION", "GIBBERISH", "NO_EOS")):
        seen.append(finding(id, onset=10 + place))
        counts.append(len(titles(memory, START + place, *seen, settings=few)))

    assert counts == [1, 1, 0, 0]
    assert len(titles(memory, START + 25 * HOUR, *seen, settings=few)) == 1


def test_occasions_that_are_not_wanted_are_neither_sent_nor_counted() -> None:
    memory = RunMemory()
    quiet = GuardianSettings(tell=("recovered",), cooldown_seconds=0.0)

    assert titles(memory, START, finding(), settings=quiet) == []
    assert memory.messages == []
    assert titles(memory, START + 1, finding(recovered=40), settings=quiet) == ["RECOVERED: KL_BLOWUP in runs/night"]


def test_a_message_holds_no_control_character_of_a_hostile_name() -> None:
    memory = RunMemory()
    evil = finding("NUMERIC_NAN", subject="\x1b]0;owned\x07loss\n")

    assert titles(memory, START, evil) == ["WARNING: NUMERIC_NAN loss  in runs/night since step 10"]


_IDS = ("KL_BLOWUP", "ENTROPY_COLLAPSE", "REWARD_COLLAPSE")
_LEVELS = st.sampled_from([None, "info", "warning", "critical", "recovered"])


@st.composite
def _courses(draw: st.DrawFn) -> list[Diagnosis]:
    """Diagnoses of one run in which three findings come, change and go."""
    out = []
    since: dict[str, int] = {}
    gone: dict[str, int] = {}
    for step in range(1, draw(st.integers(1, 14)) + 1):
        present = []
        for id in _IDS:
            level = draw(_LEVELS)
            if level is None and id not in since and id not in gone:
                continue
            if level in (None, "recovered"):
                if id in since:
                    gone[id] = since.pop(id)
                if id in gone:
                    present.append(finding(id, onset=gone[id], detected=gone[id], recovered=step))
                continue
            since.setdefault(id, step)
            gone.pop(id, None)
            present.append(finding(id, onset=since[id], detected=since[id], severity=level))
        out.append(diagnosis(*present, step=step, together=draw(st.booleans())))
    return out


@settings(max_examples=60, deadline=None)
@given(course=_courses(), restarts=st.sets(st.integers(0, 13)))
def test_a_watch_that_is_restarted_sends_what_one_that_was_not_sends(
    course: list[Diagnosis], restarts: set[int]
) -> None:
    through, restarted = RunMemory(), RunMemory()
    for place, state in enumerate(course):
        if place in restarts:
            restarted = msgspec.json.decode(msgspec.json.encode(restarted), type=RunMemory)
        sent = []
        for memory in (through, restarted):
            changes = [(one.kind, one.name) for one in follow(memory, state)]
            sent.append((changes, due(memory, state, EAGER, START + place)))
        assert sent[0] == sent[1]


@settings(max_examples=60, deadline=None)
@given(course=_courses())
def test_no_finding_is_told_twice_at_a_severity_unless_it_went_away_in_between(course: list[Diagnosis]) -> None:
    memory = RunMemory()
    for place, state in enumerate(course):
        before = {name: (one.detected, one.alerted) for name, one in memory.told.items() if one.active}
        follow(memory, state)
        due(memory, state, EAGER, START + place)
        assert due(memory, state, EAGER, START + place + 0.5) == []
        for found in state.findings:
            name, alerted = name_of(found), memory.told[name_of(found)].alerted
            if found.status == "active" and found.severity != "info":
                assert rank(alerted) <= rank(found.severity)
            detected, was = before.get(name, (0, ""))
            if found.status == "active" and detected == found.detected_step and was and found.severity != "info":
                assert rank(alerted) <= rank(was)
