"""Episodes: opened by a firing row, alive while the condition holds, over after RECOVERY rows without it."""

from dataclasses import asdict, replace
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rlprobe.doctor.signature import Judgement
from rlprobe.doctor.tracking import RECOVERY, Episode, Track


def _mask(*parts: tuple[int, bool]) -> np.ndarray:
    return np.repeat([value for _, value in parts], [count for count, _ in parts]).astype(bool)


def _judgement(fires: np.ndarray, **rest: np.ndarray) -> Judgement:
    return Judgement(fires=fires, log_evidence=rest.pop("log_evidence", np.arange(len(fires), dtype=float)), **rest)  # type: ignore[arg-type]  # fields of Judgement


def _cut(judgement: Judgement, part: slice) -> Judgement:
    arrays = {
        name: getattr(judgement, name) for name in ("fires", "log_evidence", "holds", "critical", "explained", "since")
    }
    cut = {name: None if array is None else array[part] for name, array in arrays.items()}
    return replace(judgement, **cut, facts={name: values[part] for name, values in judgement.facts.items()})


def _episodes(judgement: Judgement, cuts: list[int]) -> list[Episode]:
    track, n = Track(), len(judgement.fires)
    for low, high in pairwise([0, *sorted(min(cut, n) for cut in cuts), n]):
        track.follow(_cut(judgement, slice(low, high)), low)
    return track.episodes


def _slow(judgement: Judgement) -> list[Episode]:
    """Row by row, straight from the definition."""
    fires = judgement.fires
    holds = fires if judgement.holds is None else fires | judgement.holds
    out: list[Episode] = []
    for row in range(len(fires)):
        evidence = float(judgement.log_evidence[row])
        if not out or out[-1].recovered is not None:
            if not fires[row]:
                continue
            since = -1 if judgement.since is None else int(judgement.since[row])
            facts = {name: float(values[row]) for name, values in judgement.facts.items()}
            out.append(Episode(detected=row, since=since, log_evidence=evidence, critical=False, last=row, facts=facts))
        episode = out[-1]
        episode.log_evidence = max(episode.log_evidence, evidence)
        if holds[row]:
            episode.last = row
            episode.critical |= judgement.critical is not None and bool(judgement.critical[row])
            episode.explained = judgement.explained is not None and bool(judgement.explained[row])
        elif row - episode.last == RECOVERY:
            episode.recovered = row
    return out


stretches = st.lists(st.tuples(st.integers(1, 2 * RECOVERY), st.booleans()), min_size=1, max_size=8)


@st.composite
def judgements(draw: st.DrawFn) -> Judgement:
    """Masks in stretches of which some are longer than a recovery."""
    fires = _mask(*draw(stretches))
    n = len(fires)
    flags = [np.resize(_mask(*draw(stretches)), n) for _ in range(3)]
    return Judgement(
        fires=fires,
        log_evidence=np.resize(np.array(draw(st.lists(st.floats(-5, 20), min_size=1, max_size=9))), n),
        holds=draw(st.sampled_from([None, flags[0]])),
        critical=draw(st.sampled_from([None, flags[1]])),
        explained=draw(st.sampled_from([None, flags[2]])),
        since=draw(st.sampled_from([None, np.arange(n) // 2])),
        facts={"number": np.arange(n, dtype=float)},
    )


@given(judgement=judgements(), cuts=st.lists(st.integers(0, 400), max_size=12))
def test_any_chunking_gives_the_episodes_of_the_definition(judgement: Judgement, cuts: list[int]) -> None:
    told = [asdict(episode) for episode in _episodes(judgement, cuts)]

    assert told == [asdict(episode) for episode in _slow(judgement)]


@given(judgement=judgements())
def test_the_episodes_of_a_prefix_are_not_changed_by_what_follows(judgement: Judgement) -> None:
    """What was detected stays detected at the same row with the same numbers; only an active one may go on."""
    half = len(judgement.fires) // 2
    early = _episodes(_cut(judgement, slice(0, half)), [])
    late = _episodes(judgement, [])

    assert [(e.detected, e.since, e.facts) for e in early] == [
        (e.detected, e.since, e.facts) for e in late[: len(early)]
    ]
    assert [e for e in early if e.recovered is not None] == late[: sum(e.recovered is not None for e in early)]


def test_a_pause_shorter_than_a_recovery_is_one_episode() -> None:
    fires = _mask((5, False), (1, True), (RECOVERY - 1, False), (1, True), (3, False))

    (episode,) = _episodes(_judgement(fires), [])

    assert (episode.detected, episode.last, episode.recovered) == (5, 5 + RECOVERY, None)


def test_a_recovery_is_told_at_the_row_that_completes_it_and_a_new_firing_is_a_new_episode() -> None:
    fires = _mask((5, True), (RECOVERY, False), (2, True))

    first, second = _episodes(_judgement(fires), [])

    assert (first.detected, first.last, first.recovered) == (0, 4, 4 + RECOVERY)
    assert (second.detected, second.recovered) == (5 + RECOVERY, None)


def test_a_condition_that_holds_keeps_an_episode_alive_but_opens_none() -> None:
    holds = np.ones(60, dtype=bool)

    assert _episodes(_judgement(np.zeros(60, dtype=bool), holds=holds), []) == []
    (episode,) = _episodes(_judgement(_mask((3, False), (1, True), (56, False)), holds=holds), [])
    assert (episode.detected, episode.last) == (3, 59)


def test_one_critical_row_makes_the_episode_critical_for_good() -> None:
    critical = _mask((10, False), (1, True), (20, False))

    (episode,) = _episodes(_judgement(np.ones(31, dtype=bool), critical=critical), [15])

    assert episode.critical


def test_a_critical_row_outside_the_condition_is_none() -> None:
    fires = _mask((5, True), (RECOVERY - 2, False))

    (episode,) = _episodes(_judgement(fires, critical=~fires), [])

    assert not episode.critical


def test_a_harmless_reason_counts_as_long_as_it_lasts() -> None:
    explained = _mask((10, True), (10, False))

    (early,) = _episodes(_cut(_judgement(np.ones(20, dtype=bool), explained=explained), slice(0, 10)), [])
    (late,) = _episodes(_judgement(np.ones(20, dtype=bool), explained=explained), [])

    assert early.explained
    assert not late.explained
