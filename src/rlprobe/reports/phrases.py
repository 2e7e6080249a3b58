"""The phrases that every page shares: a finding, its evidence, its confidence and the silences in words."""

from rlprobe.doctor.finding import Confidence, Diagnosis, Evidence, Finding, Remedy
from rlprobe.reports.format import argument, counted, cut, number, of_baseline, percent, plain, quantity, steps

WITHOUT_CHECKS = frozenset(  # signatures whose cause lies outside the functions that a verifier can call
    {"MEMORY_CREEP", "RESUME_DISCONTINUITY", "THROUGHPUT_ROT", "TOOL_USE_COLLAPSE"}
)


def change(evidence: Evidence) -> str:
    """Evidence as "0.84 → 0.04 nats/token (5 % of baseline)"; the level and its steps where nothing came before."""
    after = quantity(evidence.after, evidence.unit)
    if evidence.before is None:
        return f"{after}, {steps(evidence.steps)}"
    before = (
        quantity(evidence.before, evidence.unit) if evidence.unit in ("seconds", "bytes") else number(evidence.before)
    )
    compared = of_baseline(evidence.before, evidence.after)
    return f"{before} → {after} ({compared})" if compared else f"{before} → {after}"


def onset(finding: Finding) -> str:
    """When it began and when it could be told: "step 212 (between 205 and 220), detected at step 231"."""
    low, high = finding.onset_interval
    between = f" (between {low} and {high})" if low != high else ""
    later = f", detected at step {finding.detected_step}" if finding.detected_step != finding.onset_step else ""
    return f"step {finding.onset_step}{between}{later}"


def status(finding: Finding) -> str:
    """Whether it goes on: "still active", "recovered at step 300"."""
    if finding.status == "active":
        return "still active"
    return "recovered" if finding.recovered_step is None else f"recovered at step {finding.recovered_step}"


def confidence(measured: Confidence) -> str:
    """The measured frequency with its interval and what it was measured on; says so when nothing was measured."""
    if measured.value is None:
        return "confidence not measured: too few labelled examples"
    basis = "findings of this kind of evidence" if measured.pooled else "findings of this signature"
    interval = (
        "" if measured.interval is None else f" ({measured.interval[0] * 100:.0f} to {percent(measured.interval[1])})"
    )
    return f"confidence {percent(measured.value)}{interval}, measured on {measured.examples} {basis}"


def setting(remedy: Remedy) -> str:
    """The setting line of a remedy: "beta = 0 → 0.01-0.05"; its name where no value is known; "" when it has none."""
    if not remedy.setting:
        return ""
    if remedy.current is None and not remedy.suggested:
        return f"setting: {plain(remedy.setting)}"
    current = remedy.current
    shown = "" if current is None else f" = {f'{current:.6g}' if type(current) is float else cut(current, 40)}"
    return f"{plain(remedy.setting)}{shown}" + (f" → {plain(remedy.suggested)}" if remedy.suggested else "")


def name(finding: Finding) -> str:
    """The id, with the subject where there is one: "REWARD_COMPONENT_DEAD format"."""
    return plain(finding.id if finding.subject is None else f"{finding.id} {finding.subject}")


def facts(diagnosis: Diagnosis) -> list[str]:
    """What was read, part by part: source, algorithm, format, steps, sessions, state; unknown parts are left out."""
    rows = "no rows" if diagnosis.steps is None else f"{steps(diagnosis.steps)}, {counted(diagnosis.rows, 'row')}"
    segments = counted(diagnosis.segments, "segment") if diagnosis.segments > 1 else ""
    parts = (diagnosis.source, diagnosis.algorithm, diagnosis.format, rows, segments, state(diagnosis.state))
    return [plain(part) for part in parts if part and part != "unknown"]


def state(recorded: str) -> str:
    """The state of a run in words."""
    return "still recording" if recorded == "recording" else plain(recorded)


def silence(reason: str, missing: tuple[str, ...], count: int) -> str:
    """Why some signatures were not judged: "3 because value_loss is not logged"."""
    if reason == "missing":
        return f"{count} because {' and '.join(map(_absent, missing))}"
    return f"{count} because the run is too short" if reason == "too_short" else f"{count} disabled by configuration"


def _absent(metric: str) -> str:
    """ "a is not logged", "none of a, b is logged"."""
    alternatives = [plain(name) for name in metric.split("|")]
    if len(alternatives) == 1:
        return f"{alternatives[0]} is not logged"
    return f"none of {', '.join(alternatives)} is logged"


def losses(diagnosis: Diagnosis) -> list[str]:
    """What the recording lost or could not hold, a sentence a kind; empty when nothing was lost."""
    told = []
    if diagnosis.dropped:
        told.append(f"{counted(diagnosis.dropped, 'row')} dropped because the recorder's queue was full.")
    if diagnosis.bad_values:
        told.append(f"{counted(diagnosis.bad_values, 'value')} left out that could not be read as a number.")
    if diagnosis.unreadable:
        told.append(f"{counted(diagnosis.unreadable, 'piece')} of the source left out that could not be read.")
    return told


def followed(root: Finding) -> str:
    """The heading above an incident's other findings: they follow from a cause, and come with a first mover."""
    return "What followed from it" if root.relation == "cause" else "What came with it"


def confirm_command(finding: Finding) -> str:
    """The command that runs the checks of the user's code by which the cause shows; "" where no check speaks of it."""
    return "" if finding.id in WITHOUT_CHECKS else f"rlprobe verify TARGET --only {plain(finding.id)}"


def show_command(finding: Finding, source: str) -> str:
    """The command that shows the step of the finding's first sample."""
    return f"rlprobe show {argument(source)} --step {plain(finding.samples[0].split('/', 1)[0])}"
