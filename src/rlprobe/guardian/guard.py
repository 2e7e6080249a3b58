"""One run under watch: what is new since the last look, which messages go out, whether it is asked to halt."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rlprobe.doctor.configuration import DEFAULT, Configuration
from rlprobe.doctor.engine import Doctor
from rlprobe.doctor.finding import Diagnosis
from rlprobe.guardian import control, messages
from rlprobe.guardian.following import Change, follow, name_of
from rlprobe.guardian.memory import RunMemory, origin
from rlprobe.guardian.messages import Message
from rlprobe.guardian.news import News, NewsKind, of_change
from rlprobe.guardian.pace import Pace
from rlprobe.guardian.policy import Decision, decide
from rlprobe.guardian.settings import GuardianSettings
from rlprobe.recording.rank_states import sentence
from rlprobe.recording.run import Run
from rlprobe.reports.format import argument, duration

Halting = Literal["no", "dry", "ask"]
ABANDONED = 12  # times the patience after which a log that cannot say that it ended counts as ended
_LEAST_ABANDONED = 3600.0  # seconds
_OVER = frozenset(("closed", "crashed"))
_DRY = "dry "  # before an episode for which a halt would have been asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one look at a run brought."""

    news: list[News] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    changed: bool = False


class Guard:
    """One run under watch.

    Args:
        run: the run; it may still grow.
        settings: what is worth a message, and what may halt.
        memory: what an earlier watch of this run told; a new one otherwise.
        configuration: how the doctor judges.
        halting: "ask" writes control.json, "dry" only says that it would, "no" says nothing.
        speaks: whether there is anybody to send messages to; what nobody got counts as not sent.
        now: seconds since 1970.

    Attributes:
        diagnosis: the newest.
        dirty: whether the memory has something that should outlive the process; the keeper of the memory clears it.
    """

    def __init__(
        self,
        run: Run,
        settings: GuardianSettings,
        memory: RunMemory | None = None,
        *,
        configuration: Configuration = DEFAULT,
        halting: Halting = "dry",
        speaks: bool = True,
        now: float,
    ) -> None:
        self.run, self.settings, self.halting, self.speaks = run, settings, halting, speaks
        mine = memory is not None and memory.origin in ("", origin(run))
        self.memory = memory if mine and memory is not None else RunMemory()
        self.pace = Pace(run, self.memory, now)
        self._doctor = Doctor(run, configuration=configuration)
        self.diagnosis: Diagnosis = self._doctor.update()
        self._seen = self._marks()
        self._first = True
        self._over_since: float | None = None
        self.dirty = False

    def look(self, now: float) -> Look:
        """Read and judge what is new; costs what the new rows cost."""
        changed = self._read() or self._first
        news: list[News] = []
        if changed:
            news += self._told_before() if self._first else []
            self._first = False
            self.pace.observe(self.run, now)
            news += self._turns()
            news += [of_change(change, self.diagnosis) for change in follow(self.memory, self.diagnosis)]
            self.memory.origin = self.memory.origin or origin(self.run)
        news += self._life(now)
        news += self._halt()
        out = list(self._messages(news, now)) if self.speaks else []
        self._note(news, out)
        return Look(news=news, messages=out, changed=changed)

    def over(self, now: float) -> bool:
        """Whether nothing more is to be expected of the run."""
        state = self.run.manifest.state
        if state == "closed":
            return True
        if state == "crashed":
            return self._over_since is not None and now - self._over_since >= self.settings.resume_seconds
        return self._abandoned(now)

    def _read(self) -> bool:
        self.run.refresh()
        if self._marks() == self._seen:
            return False
        self.diagnosis = self._doctor.update()
        self._seen = self._marks()
        return True

    def _marks(self) -> tuple[object, ...]:
        run = self.run
        return run.rows, run.complete, run.revisions, len(run.events), run.manifest.state, run.reading.unreadable

    def _told_before(self) -> Iterator[News]:
        """Findings that an earlier watch told and that are still there."""
        judged = self.memory.judged
        for finding in self.diagnosis.findings:
            before = self.memory.told.get(name_of(finding))
            same = before is not None and before.active and (judged is None or finding.detected_step <= judged)
            if same and finding.status == "active":
                change = Change(kind="new", name=name_of(finding), finding=finding, severity=finding.severity)
                yield of_change(change, self.diagnosis, known=True)

    def _turns(self) -> Iterator[News]:
        """Training went back, or was resumed."""
        run, memory = self.run, self.memory
        if run.rewinds > memory.rewinds:
            low = int(run.row_segments[-1]) if run.rows else 0
            first = next((one.first_step for one in run.segments if one.index == low), None)
            yield self._news("went_back", f"Training went back to step {first}; newer rows replace the older ones.")
        memory.rewinds = run.rewinds
        if memory.end and run.manifest.state not in _OVER and run.rows > memory.rows:
            memory.end, self._over_since = "", None
            yield self._news("resumed", "Training goes on.")

    def _life(self, now: float) -> Iterator[News]:
        """Rows stay away or come again; the run ends."""
        memory, state = self.memory, self.run.manifest.state
        gone = self._abandoned(now)
        if state in _OVER or gone:
            self._over_since = now if self._over_since is None else self._over_since
            end = f"{'abandoned' if gone else state} {len(self.run.segments)} {self.run.rows}"
            if memory.end != end:
                memory.end, memory.silent = end, False
                yield self._crashed() if state == "crashed" else self._news("ended", self._ended(now, gone=gone))
            return self._remember()
        self._over_since = None
        yield from self._lost()
        if memory.silent and self.run.rows != memory.rows:
            memory.silent = False
            yield self._news("alive", "Rows come again.")
        elif not memory.silent and self.run.rows and now - self.pace.grown > self.pace.patience(self.settings):
            memory.silent = True
            usual = f", usual are {duration(self.pace.usual)}" if self.pace.usual else ""
            yield self._news("silent", f"No row for {duration(now - self.pace.grown)}{usual}; the run counts as died.")
        return self._remember()

    def _lost(self) -> Iterator[News]:
        """Ranks that are gone while the run goes on; one that came back is told again when it is lost again."""
        lost = [one for one in self.run.reading.ranks if one.lost]
        for one in lost:
            if one.rank not in self.memory.ranks:
                told = sentence(one)
                yield self._news("rank_lost", f"{told[0].upper()}{told[1:]}.")
        self.memory.ranks = sorted(one.rank for one in lost)

    def _remember(self) -> None:
        memory = self.memory
        memory.rows, memory.grown, memory.usual_seconds = self.run.rows, self.pace.grown, self.pace.usual

    def _abandoned(self, now: float) -> bool:
        """Whether a log that cannot say that it ended has been silent for so long that it did."""
        patience = max(_LEAST_ABANDONED, ABANDONED * self.pace.patience(self.settings))
        return self.run.manifest.state == "unknown" and self.run.rows > 0 and now - self.pace.grown > patience

    def _ended(self, now: float, *, gone: bool) -> str:
        why = f": no row for {duration(now - self.pace.grown)}" if gone else ""
        return f"The run ended{self._at()}{why}."

    def _crashed(self) -> News:
        errors = [event for event in self.run.events if event.kind in ("crash", "signal")]
        last = errors[-1].fields if errors else {}
        why = last.get("error") or last.get("signal") or "its process is gone without a word"
        return self._news("crashed", f"The run died{self._at()}: {str(why)[:200]}.")

    def _halt(self) -> Iterator[News]:
        """Ask for a halt, or say that it would be asked; once for each episode."""
        if self.halting == "no" or self.run.manifest.state in _OVER:
            return
        able = self.halting == "ask" and self.run.manifest.format == "recording"
        mark = "" if able else f"{_DRY}{int(self.run.row_segments[-1]) if self.run.rows else 0} "
        asked = [one.removeprefix(mark) for one in self.memory.halts if one.startswith(mark or _DRY) != able]
        if asked and not able:
            return  # what a halt would have ended needs no second one
        decision = decide(self.diagnosis, self.settings.halt, asked)
        if decision is None:
            return
        if not able:
            why = "" if self.halting == "dry" else " A foreign log has nobody who could be asked."
            yield self._news("would_halt", f"Would ask training to halt: {decision.reason}.{why}", decision)
        else:
            yield from self._ask(decision)
        self.memory.halts.append(mark + decision.episode)

    def _ask(self, decision: Decision) -> Iterator[News]:
        try:
            if control.ask(Path(self.run.source), decision, self.run):
                yield self._news("halt", f"Asked training to halt: {decision.reason}.", decision)
        except OSError as error:
            yield self._news("trouble", f"The halt could not be asked for: {error.strerror}.", decision)

    def _messages(self, news: list[News], now: float) -> Iterator[Message]:
        memory, settings, name = self.memory, self.settings, messages.run_name(self.run.source)
        for one in news:
            if one.kind == "halt":
                body = self._halt_body(one)
                yield from messages.plain_message("new", f"HALT asked for in {name}", body, memory, settings, now)
        yield from messages.due(memory, self.diagnosis, settings, now)
        for one in news:
            if one.kind in ("silent", "crashed"):
                yield from messages.plain_message("died", f"DIED: {name}", self._body(one), memory, settings, now)
            if one.kind == "rank_lost":
                yield from messages.plain_message("died", f"RANK DIED: {name}", self._body(one), memory, settings, now)
            if one.kind == "alive":
                yield from messages.plain_message("recovered", f"ALIVE: {name}", self._body(one), memory, settings, now)
            if one.kind == "ended":
                yield from messages.plain_message("ended", f"ENDED: {name}", self._body(one), memory, settings, now)

    def _body(self, one: News) -> str:
        return f"{one.text}\n{self.diagnosis.sentence}\n\nrlprobe doctor {argument(self.run.source)}"

    def _halt_body(self, one: News) -> str:
        back = None if one.finding is None else one.finding.rollback_step
        return f"{one.text}\n" + (f"Roll back to the checkpoint of step {back}." if back is not None else "")

    def _note(self, news: list[News], out: list[Message]) -> None:
        self.dirty = self.dirty or bool(out) or any(one.kind != "known" for one in news)

    def _at(self) -> str:
        return "" if self.run.rows == 0 else f" at step {int(self.run.steps[-1])}"

    def _news(self, kind: NewsKind, text: str, decision: Decision | None = None) -> News:
        steps = self.diagnosis.steps
        return News(
            kind=kind,
            text=text,
            run=self.run.source,
            step=None if steps is None else steps[1],
            name="" if decision is None else name_of(decision.finding),
            severity="" if decision is None else decision.finding.severity,
            finding=None if decision is None else decision.finding,
            diagnosis=self.diagnosis,
        )
