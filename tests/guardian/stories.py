"""Diagnoses made to order, recordings and logs that grow, and a teller that keeps what it is told."""

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rlprobe.doctor.finding import Diagnosis, Evidence, Finding, Incident
from rlprobe.guardian.guard import Guard
from rlprobe.guardian.messages import Message
from rlprobe.guardian.news import News
from rlprobe.guardian.sources import sources
from rlprobe.guardian.watching import Plan, Watch
from tests.reports.diagnoses import LENGTH_HACK

START = time.time()  # files that a story writes are as old as the story


def finding(
    id: str = "KL_BLOWUP",
    *,
    severity: str = "warning",
    onset: int = 10,
    detected: int = 20,
    recovered: int | None = None,
    after: str | None = None,
    stage: str = "policy",
    metric: str = "kl_mean",
    log_evidence: float | None = 20.0,
    subject: str | None = None,
) -> Finding:
    """A finding; its key is id@onset."""
    line = Evidence(
        metric=metric, unit="", before=0.1, after=3.0, statistic="level", log_evidence=log_evidence, steps=(1, detected)
    )
    name = id if subject is None else f"{id}[{subject}]"
    return replace(
        LENGTH_HACK,
        key=f"{name}@{onset}",
        id=id,
        subject=subject,
        stage=stage,
        severity="info" if recovered is not None else severity,
        onset_step=onset,
        onset_interval=(onset, onset),
        detected_step=detected,
        status="active" if recovered is None else "recovered",
        recovered_step=recovered,
        root=after is None,
        consequence_of=after,
        relation="first_mover" if after is None else "consequence",
        evidence=(line,),
        rollback_step=5,
        samples=(),
    )


def diagnosis(*findings: Finding, step: int = 30, together: bool = False, source: str = "runs/night") -> Diagnosis:
    """A diagnosis of these findings, each an incident of its own, or one incident under the first."""
    keys = [one.key for one in findings]
    groups = [tuple(keys)] if together and keys else [(key,) for key in keys]
    active = {one.severity for one in findings if one.status == "active"}
    return Diagnosis(
        source=source,
        format="recording",
        algorithm="grpo",
        steps=(1, step),
        rows=step,
        segments=1,
        state="recording",
        verdict="failing" if "critical" in active else "attention" if "warning" in active else "healthy",
        sentence="As told.",
        incidents=tuple(Incident(root=group[0], members=group, first_mover="") for group in groups),
        findings=findings,
    )


class Kept:
    """A teller that keeps news and counts rounds."""

    def __init__(self) -> None:
        self.news: list[News] = []
        self.rounds = 0
        self.guards: Sequence[Guard] = ()
        self.ended: Sequence[Diagnosis] | None = None

    def tell(self, news: News, now: float) -> None:
        self.news.append(news)

    def show(self, guards: Sequence[Guard], now: float, *, waits: str) -> None:
        self.rounds += 1
        self.guards = guards

    def end(self, diagnoses: Sequence[Diagnosis], now: float) -> None:
        self.ended = diagnoses

    def kinds(self) -> list[str]:
        return [one.kind for one in self.news]

    def named(self, kind: str) -> list[str]:
        return [one.name for one in self.news if one.kind == kind]


class Post:
    """A channel that keeps what it is handed."""

    def __init__(self) -> None:
        self.sent: list[Message] = []

    def send(self, message: Message) -> None:
        self.sent.append(message)

    def close(self, timeout: float) -> bool:
        return True

    def titles(self) -> list[str]:
        return [one.title for one in self.sent]


class Time:
    """A clock that stands still until it is moved; sleeping moves it, and does what the story says comes next."""

    def __init__(self, *scenes: Callable[[], object]) -> None:
        self.now = START
        self._scenes = list(scenes)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self._scenes:
            self._scenes.pop(0)()
        else:
            raise EndOfStory


class EndOfStory(Exception):
    """The story has no more scenes, and the watch goes on."""


def watched(
    path: Path, *scenes: Callable[[], object], plan: Plan | None = None, post: Post | None = None, **options: object
) -> Kept:
    """What a watch of the path tells, while one scene after another happens between its rounds."""
    kept, clock = Kept(), Time(*scenes)
    watch = Watch(
        lambda: sources(path, {}, None),
        plan or Plan(),
        kept,
        [] if post is None else [post],  # type: ignore[list-item]  # it has what a channel offers
        clock=clock,
        sleep=clock.sleep,
        **options,  # type: ignore[arg-type]  # options of Watch
    )
    with contextlib.suppress(EndOfStory):
        watch.run()
    return kept


def rows(count: int, *, first: int = 1, broken_from: int | None = None) -> list[dict[str, object]]:
    """Rows of a calm run with TRL's keys; from `broken_from` on the loss and the gradient are NaN."""
    out: list[dict[str, object]] = []
    for step in range(first, first + count):
        bad = broken_from is not None and step >= broken_from
        wave = (step * 7919 % 101) / 101
        out.append(
            {
                "step": step,
                "loss": float("nan") if bad else 0.01 * wave,
                "grad_norm": float("nan") if bad else 0.5 + 0.1 * wave,
                "reward": 0.3 + 0.001 * step + 0.05 * wave,
                "reward_std": 0.3 + 0.02 * wave,
                "entropy": 1.0 - 0.0005 * step + 0.02 * wave,
                "kl": 0.01 + 0.001 * wave,
                "completions/mean_length": 100 + 5 * wave,
            }
        )
    return out


def lines(table: Iterable[Mapping[str, object]]) -> str:
    """The rows as JSONL."""
    return "".join(json.dumps(row) + "\n" for row in table)


def append(path: Path, table: Iterable[Mapping[str, object]]) -> None:
    """Append rows to a log."""
    with path.open("a", encoding="utf-8") as out:
        out.write(lines(table))
