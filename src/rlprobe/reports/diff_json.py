"""A comparison as a tree for JSON, schema rlprobe.diff/1; docs/diff.md describes it."""

from collections.abc import Mapping, Sequence

from rlprobe.forensics.comparison import Comparison, Parted
from rlprobe.forensics.conclusion import conclusion, limits
from rlprobe.forensics.finding_differences import FindingDifference
from rlprobe.forensics.level_differences import LevelDifference
from rlprobe.forensics.prompt_differences import PromptDifference
from rlprobe.recording.run import Run

SCHEMA = "rlprobe.diff/1"


def document(found: Comparison, findings: Sequence[FindingDifference]) -> Mapping[str, object]:
    """The whole comparison."""
    return {
        "schema": SCHEMA,
        "a": [_run(run) for run in found.ours],
        "b": [_run(run) for run in found.theirs],
        "align": found.align,
        "conclusion": conclusion(found),
        "limits": limits(found),
        **_exact(found),
        **_courses(found),
        "prompts": {
            "shared": found.prompts.shared,
            "since_step": found.prompts.since,
            "entries": [_prompt(each) for each in found.prompts.entries],
        },
        "findings": [_finding(each) for each in findings],
        "compared": {"metrics": list(found.courses), "rows": found.rows},
        "notes": found.notes,
    }


def _exact(found: Comparison) -> Mapping[str, object]:
    """What needs no statistics."""
    fork, settings = found.fork, found.settings
    return {
        "settings": [{"name": e.name, "source": e.source, "a": e.ours, "b": e.theirs} for e in settings.entries],
        "settings_same": settings.same,
        "fork": None
        if fork is None
        else {
            "same_rows": fork.rows,
            "last_same_step": fork.last_same,
            "step": fork.step,
            "metrics": fork.metrics,
            "compared": fork.compared,
        },
        "schedules": [{"metric": e.metric, "step": e.step, "a": e.ours, "b": e.theirs} for e in found.scheduled],
        "not_finite": [
            {"metric": e.metric, "step": e.step, "side": "a" if e.on_ours else "b"} for e in found.not_finite
        ],
    }


def _courses(found: Comparison) -> Mapping[str, object]:
    """Where and how far the courses differ."""
    pace = found.speed
    return {
        "partings": [_parting(each) for each in found.partings],
        "speed": None
        if pace is None
        else {"factor": pace.factor, "explained": pace.explained, "metrics": pace.metrics},
        "starts": [_level(each) for each in found.starts],
        "sides": [
            {
                "metric": each.metric,
                "steps": each.steps,
                "z": each.z,
                "a": each.ours,
                "b": each.theirs,
                "spread_of_runs": each.spread,
                "lasting": each.lasting,
            }
            for each in found.sides
        ],
        "ends": [_level(each) for each in found.ends],
    }


def _finding(each: FindingDifference) -> Mapping[str, object]:
    return {
        "id": each.id,
        "subject": each.subject,
        "severity": each.severity,
        "title": each.title,
        "onsets_a": each.ours,
        "onsets_b": each.theirs,
        "runs": each.runs,
    }


def _run(run: Run) -> Mapping[str, object]:
    steps = (int(run.steps[0]), int(run.steps[-1])) if run.rows else None
    return {"source": run.source, "rows": run.rows, "steps": steps, "state": run.manifest.state}


def _parting(each: Parted) -> Mapping[str, object]:
    parting = each.parting
    return {
        "metric": each.metric,
        "step": parting.step,
        "interval": parting.interval,
        "z": parting.z,
        "a": {"before": parting.ours[0], "after": parting.ours[1]},
        "b": {"before": parting.theirs[0], "after": parting.theirs[1]},
        "lasting": parting.lasting,
    }


def _level(each: LevelDifference) -> Mapping[str, object]:
    return {"metric": each.metric, "a": each.ours, "b": each.theirs, "noise": each.noise}


def _prompt(each: PromptDifference) -> Mapping[str, object]:
    return {
        "key": each.key,
        "prompt": each.prompt,
        "samples_a": each.counts[0],
        "samples_b": each.counts[1],
        "reward_a": each.rewards[0],
        "reward_b": each.rewards[1],
        "z": each.z,
        "newest_a": each.samples[0],
        "newest_b": each.samples[1],
    }
