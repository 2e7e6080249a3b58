"""From a Run and its Diagnosis to a Dossier: everything that the page shows, read once. Judges nothing."""

from collections.abc import Iterable
from importlib import metadata

from rlprobe.doctor.configuration import DEFAULT, Configuration
from rlprobe.doctor.finding import Diagnosis, Finding
from rlprobe.recording.run import Run
from rlprobe.reports.html.charting import stages, vitals
from rlprobe.reports.html.choosing import samples_found
from rlprobe.reports.html.dossier import Dossier, Marks
from rlprobe.reports.outline import outline

MOST_MARKS = 400  # of one kind on a page; the evenly spaced ones where there are more
ENDS = ("crash", "signal", "halt")


def gather(run: Run, diagnosis: Diagnosis, *, configuration: Configuration = DEFAULT) -> Dossier:
    """What the page of a run shows.

    Args:
        run: the run that was diagnosed.
        diagnosis: what the doctor says of it.
        configuration: what it was judged by; the charts draw its thresholds.
    """
    findings = _in_reading_order(diagnosis)
    manifest = run.manifest
    return Dossier(
        diagnosis=diagnosis,
        findings=findings,
        domain=(int(run.steps[0]), int(run.steps[-1])) if run.rows else None,
        vitals=vitals(run),
        stages=stages(run, findings, configuration),
        marks=_marks(run),
        samples=samples_found(run, findings),
        settings=manifest.settings,
        inferred=manifest.inferred_settings,
        configuration=manifest.configuration,
        environment=manifest.environment,
        framework=manifest.framework,
        version=metadata.version("rlprobe"),
    )


def _in_reading_order(diagnosis: Diagnosis) -> tuple[Finding, ...]:
    arranged = outline(diagnosis)
    told = [one for chapter in arranged.chapters for one in (chapter.root, *chapter.consequences)]
    return (*told, *arranged.others)


def _marks(run: Run) -> Marks:
    steps: dict[str, list[int]] = {}
    for event in run.events:
        if event.step is not None:
            steps.setdefault(event.kind, []).append(event.step)
    ends = [(event.step, event.kind) for event in run.events if event.kind in ENDS and event.step is not None]
    return Marks(
        checkpoints=_thinned(steps.get("checkpoint", ())),
        evaluations=_thinned(steps.get("evaluation", ())),
        resumes=_thinned([segment.first_step for segment in run.segments[1:]] + steps.get("resume", [])),
        ends=tuple(sorted(set(ends))[:MOST_MARKS]),
    )


def _thinned(found: Iterable[int]) -> tuple[int, ...]:
    distinct = sorted(set(found))
    if len(distinct) <= MOST_MARKS:
        return tuple(distinct)
    return tuple(distinct[index * len(distinct) // MOST_MARKS] for index in range(MOST_MARKS))
