"""The engine: feeds a run's rows through every signature, whole or as they come, by one code path."""

from dataclasses import dataclass, field, replace

import numpy as np

from rlprobe.doctor.calibration import confidence
from rlprobe.doctor.catalog import Entry, NormalEntry, broken, entries, normals
from rlprobe.doctor.causes import flat_because, order
from rlprobe.doctor.condense import Condensed
from rlprobe.doctor.configuration import DEFAULT, Configuration
from rlprobe.doctor.finding import Diagnosis, Finding, NotChecked, Reassurance, Verdict
from rlprobe.doctor.memory import Memory
from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Judgement
from rlprobe.doctor.telling import finding, reassurance
from rlprobe.doctor.tracking import Track
from rlprobe.recording.run import Run

ENOUGH_ROWS = 20  # rows before a run without a finding may be called healthy
MOST_REASSURANCES = 3  # on one page


def diagnose(run: Run, *, configuration: Configuration = DEFAULT, until: int | None = None) -> Diagnosis:
    """What is wrong with a run, since when, by what evidence, what caused what, and what to try.

    Args:
        run: a recording or an imported log.
        configuration: which signatures speak and what they compare with.
        until: judge only rows up to this step; None judges them all.

    Returns:
        The diagnosis of the rows, the same however and whenever they were read.
    """
    return Doctor(run, configuration=configuration, until=until).update()


@dataclass(slots=True)
class _Watched:
    """One signature at work: whether its metrics have been seen, how far it has judged, and its episodes."""

    entry: Entry
    judged: int = 0
    started: bool = False
    tracks: dict[str | None, Track] = field(default_factory=dict)


@dataclass(slots=True)
class _Reassuring:
    """One reassurance at work: how far it has judged, and what it says of the last row."""

    entry: NormalEntry
    judged: int = 0
    holds: bool = False
    also: bool = False
    about: tuple[str, ...] = ()
    facts: dict[str, float] = field(default_factory=dict)


class Doctor:
    """The live form: `update` judges the rows that have come since the last one and returns the diagnosis so far.

    Args:
        run: a run that may still grow.
        configuration: which signatures speak and what they compare with.
        until: judge only rows up to this step.
    """

    def __init__(self, run: Run, *, configuration: Configuration = DEFAULT, until: int | None = None) -> None:
        self.run = run
        self._configuration = configuration
        self._until = until
        self._start_over()

    def update(self) -> Diagnosis:
        """Read and judge what is new; costs what the new rows cost."""
        self.run.refresh()
        if self.run.revisions != self._revisions:
            self._start_over()
        stop = self._rows.extend(self._complete())
        # NaN and infinities compare as False in every judge; numpy's warnings of them tell a user nothing.
        with np.errstate(all="ignore"):
            for watched in self._watched:
                self._judge(watched, stop)
            for reassuring in self._reassuring:
                self._reassure(reassuring, stop)
            return self._diagnosis(stop)

    def _start_over(self) -> None:
        self._revisions = self.run.revisions
        self._rows = Condensed(self.run)
        self._memory = Memory(self.run, self._rows)
        self._watched = [
            _Watched(entry) for entry in entries() if self._configuration.choice(entry.signature.id).enabled
        ]

        self._reassuring = [_Reassuring(entry) for entry in normals()]

    def _complete(self) -> int:
        if self._until is None:
            return self.run.complete
        return min(self.run.complete, int(np.searchsorted(self.run.steps, self._until, side="right")))

    def _judge(self, watched: _Watched, stop: int) -> None:
        signature = watched.entry.signature
        if watched.judged >= stop or self._missing(watched, stop):
            return
        choice = self._configuration.choice(signature.id)
        rows = Rows(
            self._memory,
            scope=signature.id,
            limits={t.name: choice.thresholds.get(t.name, t.value) for t in signature.thresholds},
            alarm=self._configuration.alarm,
            start=watched.judged,
            stop=stop,
        )
        judged = watched.entry.judge(rows)
        for one in (judged,) if isinstance(judged, Judgement) else judged:
            watched.tracks.setdefault(one.subject, Track()).follow(one, watched.judged)
        watched.judged = stop
        watched.started = True

    def _reassure(self, reassuring: _Reassuring, stop: int) -> None:
        normal = reassuring.entry.normal
        begun = reassuring.judged > 0 or all(self._there(name, stop) for name in normal.requires)
        if reassuring.judged >= stop or not begun:
            return
        rows = Rows(self._memory, scope=normal.id, limits={}, alarm=0.0, start=reassuring.judged, stop=stop)
        judged = reassuring.entry.judge(rows)
        reassuring.holds = bool(judged.holds[-1])
        reassuring.also = judged.also is not None and bool(judged.also[-1])
        about = judged.about
        reassuring.about = normal.shows if about is None else tuple(name for name in about if about[name][-1])
        reassuring.facts = {name: float(values[-1]) for name, values in judged.facts.items()}
        reassuring.judged = stop

    def _reassurances(self, findings: tuple[Finding, ...]) -> tuple[Reassurance, ...]:
        """The heaviest of those that hold; none beside a critical finding, where calm words would be read wrongly."""
        if any(one.severity == "critical" and one.status == "active" for one in findings):
            return ()
        told = {one.id for one in findings}
        calm = [one for one in self._reassuring if one.holds and not told.intersection(one.entry.normal.unless)]
        calm.sort(key=lambda one: (-one.entry.normal.weight, one.entry.normal.id))
        return tuple(
            reassurance(one.entry.normal, one.facts, one.about, self._rows, also=one.also)
            for one in calm[:MOST_REASSURANCES]
        )

    def _missing(self, watched: _Watched, stop: int) -> tuple[str, ...]:
        """Required metrics that no row has yet; a signature that has begun to judge goes on."""
        if watched.started:
            return ()
        return tuple(name for name in watched.entry.signature.requires if not self._there(name, stop))

    def _there(self, alternatives: str, stop: int) -> bool:
        return any(
            self.run.begins(member) < stop
            for name in alternatives.split("|")
            for member in (self._members(name) if name.endswith("/") else (name,))
        )

    def _members(self, family: str) -> tuple[str, ...]:
        return tuple(name for name in self.run.metrics if name.startswith(family))

    def _observations(self, alternatives: str) -> int:
        names = [m for n in alternatives.split("|") for m in (self._members(n) if n.endswith("/") else (n,))]
        return max((self._rows.observations(name) for name in names), default=0)

    def _diagnosis(self, stop: int) -> Diagnosis:
        run, rows = self.run, self._complete()
        steps = (int(run.steps[0]), int(self._rows.steps[-1])) if stop else None
        checked, not_checked = self._silences(stop)
        unseen = frozenset(one.id for one in not_checked if one.reason == "missing")
        findings, incidents = order(self._findings(), steps or (0, 0), unseen)
        findings = tuple(_explained(one, flat_because(findings, checked, unseen)) for one in findings)
        verdict = _verdict(findings, checked, stop)
        manifest, reading = run.manifest, run.reading
        return Diagnosis(
            source=run.source,
            format=manifest.format,
            algorithm=manifest.algorithm,
            steps=steps,
            rows=rows,
            segments=int(rows > 0) + int(np.count_nonzero(np.diff(run.row_segments[:rows]))),
            state=manifest.state,
            verdict=verdict,
            sentence=_sentence(verdict, findings, stop, reading.unreadable),
            incidents=incidents,
            findings=findings,
            checked=checked,
            not_checked=not_checked,
            reassurances=self._reassurances(findings),
            dropped=reading.dropped,
            bad_values=reading.bad_values,
            unreadable=reading.unreadable,
            notes=(*reading.notes, *broken()),
        )

    def _findings(self) -> list[Finding]:
        out = []
        for watched in self._watched:
            signature = watched.entry.signature
            plain = self._configuration.choice(signature.id).severity or signature.severity
            for subject, track in watched.tracks.items():
                for episode in track.told(lasting=signature.lasting):
                    severity = "critical" if episode.critical and plain == "warning" else plain
                    severity = "info" if episode.explained else severity
                    told = finding(signature, episode, subject, self._rows, self.run, severity)
                    out.append(replace(told, confidence=confidence(signature)))
        return out

    def _silences(self, stop: int) -> tuple[tuple[str, ...], tuple[NotChecked, ...]]:
        checked, silent = [], []
        watched_ids = {watched.entry.signature.id for watched in self._watched}
        for watched in self._watched:
            signature = watched.entry.signature
            missing = self._missing(watched, stop)
            count = min((self._observations(name) for name in signature.requires), default=stop)
            if missing:
                silent.append(NotChecked(id=signature.id, reason="missing", missing=missing, how=signature.record))
            elif count < signature.minimum_rows and not any(t.episodes for t in watched.tracks.values()):
                of = f" of {signature.requires[0]}" if signature.requires else ""
                how = f"It needs {signature.minimum_rows} rows{of}; there are {count}."
                silent.append(NotChecked(id=signature.id, reason="too_short", missing=(), how=how))
            else:
                checked.append(signature.id)
        silent.extend(
            NotChecked(id=e.signature.id, reason="disabled", missing=(), how="Enable it in doctor.toml.")
            for e in entries()
            if e.signature.id not in watched_ids
        )
        return tuple(checked), tuple(sorted(silent, key=lambda one: (one.reason, one.id)))


def _explained(finding: Finding, because: str) -> Finding:
    """A flat reward is answered with what keeps it flat."""
    if finding.id != "NO_LEARNING" or not because:
        return finding
    return replace(finding, explanation=f"{finding.explanation} {because}")


def _verdict(findings: tuple[Finding, ...], checked: tuple[str, ...], rows: int) -> Verdict:
    active = {one.severity for one in findings if one.status == "active"}
    if "critical" in active:
        return "failing"
    if "warning" in active:
        return "attention"
    arms = {e.signature.id: e.signature.arm for e in entries()}
    return "healthy" if rows >= ENOUGH_ROWS and any(arms[id] != "exact" for id in checked) else "unknown"


def _sentence(verdict: Verdict, findings: tuple[Finding, ...], rows: int, unreadable: int) -> str:
    if verdict == "unknown" and unreadable:
        return f"Too little could be read: {rows} rows; damaged frames, lines or files: {unreadable}."
    if verdict == "unknown":
        return f"Too little to say: {rows} rows, and no signature that needs a course of training could be checked."
    if verdict == "healthy":
        return "Nothing that was checked is wrong."
    head = next(one for one in findings if one.status == "active" and one.severity != "info")
    more = sum(one.status == "active" and one.severity != "info" for one in findings) - 1
    also = "" if more == 0 else f", with {more} more finding{'s' if more > 1 else ''}"
    return f"{head.title} since step {head.onset_step}{also}."
