"""A run played row by row through the guardian: which messages it sends at which step, and where it would halt."""

from bisect import bisect_left
from dataclasses import dataclass, replace

from bench.doctor.laboratory import QUIET
from rlprobe.doctor.engine import Doctor, diagnose
from rlprobe.doctor.finding import Diagnosis
from rlprobe.guardian.following import name_of
from rlprobe.guardian.guard import Guard
from rlprobe.guardian.replaying import ReplayFeed, moments
from rlprobe.guardian.settings import DEFAULT
from rlprobe.recording.run import Run

# Nothing is held back: what a cooldown and a cap would spare is counted.
SETTINGS = replace(DEFAULT, cooldown_seconds=0.0, messages_a_day=10_000, tell=("new", "worse", "recovered"))


WIDTH = 8  # rows; what comes and goes within them leaves another step of detection behind


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What the guardian did while a run was played.

    Attributes:
        rows, first, last: rows of the run, its first and last step.
        alerts: (step, ids told) of each message that something is new or worse.
        calm: messages that something recovered.
        halt: step at which it would have halted the run, None if never; and the finding that it names.
        diagnosis: the last one.
    """

    rows: int
    first: int
    last: int
    alerts: tuple[tuple[int, frozenset[str]], ...]
    calm: int
    halt: int | None
    halted_by: str
    diagnosis: Diagnosis

    @property
    def saved(self) -> float:
        """Fraction of the run's steps that come after the halt."""
        return 0.0 if self.halt is None else (self.last - self.halt) / max(1, self.last - self.first)


def play(run: Run) -> Played:
    """Play a run row by row; rows before the first finding of an alarming signature come at once: none has an alert."""
    whole = diagnose(run)
    first, last = (int(run.steps[0]), int(run.steps[-1])) if run.rows else (0, 0)
    quiet = Played(rows=run.rows, first=first, last=last, alerts=(), calm=0, halt=None, halted_by="", diagnosis=whole)
    begin = first_alarming(run, whole)
    return quiet if begin is None else _row_by_row(run, quiet, int(run.steps[begin]))


def first_alarming(run: Run, whole: Diagnosis) -> int | None:
    """Index of the first row at which a finding of an alarming signature is there; None where no row has one.

    Findings of a prefix are those of its rows alone, and what came and went stays in the diagnosis as recovered (the
    doctor's law, held by tests/doctor/test_live_equals_posthoc.py): where a prefix has one, every longer prefix has
    one, so halving finds the first. A signature of severity info is never more than that.
    """

    def alarming(row: int) -> int:
        return int(any(one.id not in QUIET for one in diagnose(run, until=int(run.steps[row])).findings))

    if all(one.id in QUIET for one in whole.findings):
        return None
    return bisect_left(range(run.rows - 1), 1, key=alarming)


def _row_by_row(run: Run, quiet: Played, begin: int) -> Played:
    """Play a run; a row of step `begin` or later is looked at by itself, unless nothing changes over WIDTH rows."""
    feed, ahead = ReplayFeed(run), ReplayFeed(run)
    guard, scout = Guard(Run(feed), SETTINGS, now=0.0), Doctor(Run(ahead))
    alerts: list[tuple[int, frozenset[str]]] = []
    calm, halt, halted_by, now, before = 0, None, "", 0.0, None
    told = list(moments(run, speed=None, sleep=lambda seconds: None))
    for part in (told[at : at + WIDTH] for at in range(0, len(told), WIDTH)):
        for _, moment in part:
            ahead.reveal(moment)
        after = _picture(scout.update())
        still, before = after == before, after
        for now, moment in part:
            feed.reveal(moment)
            early = moment.step is None or moment.step < begin
            if early or moment.event is not None or (still and moment is not part[-1][1]):
                continue
            look = guard.look(now)
            step = int(guard.run.steps[-1])
            for message in look.messages:
                if message.occasion == "recovered":
                    calm += 1
                else:
                    alerts.append((step, frozenset(one.id for one in guard.memory.told.values() if one.alerted)))
            for news in look.news:
                if news.kind == "would_halt" and halt is None:
                    halt, halted_by = step, news.name
    feed.end()
    guard.look(now)
    return replace(quiet, alerts=tuple(alerts), calm=calm, halt=halt, halted_by=halted_by, diagnosis=guard.diagnosis)


def _picture(diagnosis: Diagnosis) -> tuple[object, ...]:
    """What messages and halts rest on: which findings there are, from when on, how severe, and what explains them."""
    causes = {one.key: name_of(one) for one in diagnosis.findings}
    return tuple(
        (name_of(one), one.severity, one.status, one.detected_step, causes.get(one.consequence_of or ""))
        for one in diagnosis.findings
    )
