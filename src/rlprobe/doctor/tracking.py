"""From rows that fire to episodes: when a finding was detected, whether it is still there, how severe it became."""

from dataclasses import dataclass, field

import numpy as np

from rlprobe.doctor.signature import Judgement
from rlprobe.recording.run import BoolArray

RECOVERY = 15  # rows without the condition after which a finding has recovered


@dataclass(slots=True, kw_only=True)
class Episode:
    """One firing, in rows of the engine; grows while it lasts.

    Attributes:
        detected: row at which everything first held.
        since: row at which the violation began as the judgement saw it, -1 when it leaves that to the onset fit.
        log_evidence: largest natural-log evidence so far.
        critical: whether any row of it was critical.
        explained: whether a harmless reason was there at the newest row at which the condition was.
        last: newest row at which the condition was there.
        recovered: row at which it had been gone for RECOVERY rows; None while active.
        facts: the judgement's numbers at the row of detection.
    """

    detected: int
    since: int
    log_evidence: float
    critical: bool
    explained: bool = False
    last: int
    recovered: int | None = None
    facts: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Track:
    """The episodes of one signature and subject."""

    episodes: list[Episode] = field(default_factory=list)

    def follow(self, judgement: Judgement, start: int) -> None:
        """Take up what a judgement says of the rows from `start` on."""
        fires = judgement.fires
        holds = fires if judgement.holds is None else judgement.holds | fires
        if self._active() is None and not fires.any():
            return
        row, n = 0, len(fires)
        while row < n:
            episode = self._active()
            if episode is None:
                ahead = np.flatnonzero(fires[row:])
                if len(ahead) == 0:
                    return
                row += int(ahead[0])
                episode = self._open(judgement, row, start)
            row = self._last(episode, judgement, holds, row, start)

    def told(self, *, lasting: bool) -> list[Episode]:
        """The episode worth telling: the first where harm lasts, otherwise the newest; what came and went is past."""
        return self.episodes[:1] if lasting else self.episodes[-1:]

    def _active(self) -> Episode | None:
        return self.episodes[-1] if self.episodes and self.episodes[-1].recovered is None else None

    def _open(self, judgement: Judgement, row: int, start: int) -> Episode:
        episode = Episode(
            detected=start + row,
            since=-1 if judgement.since is None else int(judgement.since[row]),
            log_evidence=float(judgement.log_evidence[row]),
            critical=False,
            last=start + row,
            facts={name: float(values[row]) for name, values in judgement.facts.items()},
        )
        self.episodes.append(episode)
        return episode

    def _last(self, episode: Episode, judgement: Judgement, holds: BoolArray, row: int, start: int) -> int:
        """Extend an episode from `row` on, until the chunk ends or it recovers; returns the next row to look at."""
        held = np.flatnonzero(holds[row:]) + row
        marks = np.concatenate([[episode.last - start], held, [len(holds) + RECOVERY]])
        gaps = np.flatnonzero(np.diff(marks) > RECOVERY)
        stop = int(marks[gaps[0]]) + RECOVERY if len(gaps) else len(holds)
        end = len(holds) if stop >= len(holds) else stop + 1
        part = slice(row, end)
        episode.log_evidence = max(episode.log_evidence, float(np.max(judgement.log_evidence[part], initial=-np.inf)))
        if judgement.critical is not None:
            episode.critical = episode.critical or bool((judgement.critical[part] & holds[part]).any())
        inside = held[held < end]
        if len(inside):
            episode.last = start + int(inside[-1])
            episode.explained = judgement.explained is not None and bool(judgement.explained[inside[-1]])
        if stop < len(holds):
            episode.recovered = start + stop
        return end
