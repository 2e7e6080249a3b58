"""How text, numbers, steps and durations look on every page. Pure functions: no terminal, no clock, no environment."""

import math
import re
import shlex
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from rlprobe.doctor.finding import Confidence, Diagnosis, Evidence, Finding, Remedy

MISSING = "–"  # stands where a number would, when there is none
UNITS_UNSAID = frozenset(
    {"", "dimensionless", "fraction", "ratio", "count", "norm", "reward", "score"}
)  # the metric's name says them
DATES_FROM = 1e9  # seconds; 31 years: nothing lasts that long, so such a number is a time since 1970
BARS = "▁▂▃▄▅▆▇█"
NOT_FINITE = "×"  # a value in a sparkline that is NaN or infinite

# Terminal escape sequences, with their 7-bit and 8-bit introducers (ECMA-48, 5th edition, sections 5.4 and 5.6).
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor moves
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # strings: titles, links
    r"|\x1b[ -/]*[0-~]"
)
_UNSEEN = frozenset(
    {"Cc", "Cf", "Cs", "Zl", "Zp"}
)  # controls, bidi overrides and other formats, lone surrogates, separators
_PLAIN_ENOUGH = re.compile(r"[ -~]*")
_GLYPHS = str.maketrans(
    {"→": "->", "↳": ">", "·": "|", "–": "-", "×": "x", "…": "...", "━": "=", "─": "-", "│": "|", "✓": "+", "•": "*"}
)
_BINARY = ("bytes", "KiB", "MiB", "GiB", "TiB")


def plain(text: object) -> str:
    """Foreign text as one line, safe on a terminal: no escape sequence, no control, format or surrogate character.

    Line breaks and tabs become spaces. Square brackets stay: the renderers never read markup, so they need no escape.
    """
    line = str(text)
    if _PLAIN_ENOUGH.fullmatch(line):
        return line
    line = re.sub(r"[\t\n\v\f\r\x85\u2028\u2029]+", " ", _ESCAPES.sub("", line))
    return "".join(character for character in line if unicodedata.category(character) not in _UNSEEN)


def cut(text: object, limit: int) -> str:
    """Plain text of at most `limit` characters, the last one an ellipsis where something was left out."""
    line = plain(text)
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def ascii_only(text: str) -> str:
    """The page for an output that cannot show more than ASCII; what has no spelling there becomes "?"."""
    return (
        text.translate(_GLYPHS)
        .translate({ord(bar): ".:-=+*%#"[level] for level, bar in enumerate(BARS)})
        .encode("ascii", "replace")
        .decode("ascii")
    )


def number(value: float | None) -> str:
    """Three significant digits; every digit before the decimal point below a million."""
    if value is None:
        return MISSING
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    rounded = float(f"{value:.3g}")
    size = abs(rounded)
    if size == 0:
        return "0"
    if abs(value) >= 999_999.5 or size < 1e-3:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    return f"{value:,.0f}" if size >= 1000 else f"{rounded:g}"


def quantity(value: float | None, unit: str) -> str:
    """A number with its unit, in the unit that a person would use."""
    if value is None or not math.isfinite(value):
        return number(value)
    if unit == "seconds":
        return moment(value) if value >= DATES_FROM else duration(value)
    if unit == "bytes":
        return _binary(value)
    return number(value) if unit in UNITS_UNSAID else f"{number(value)} {plain(unit)}"


def _binary(value: float) -> str:
    scaled, name = value, _BINARY[0]
    for name in _BINARY:
        if abs(scaled) < 1024 or name == _BINARY[-1]:
            break
        scaled /= 1024
    return f"{number(scaled)} {name}"


def duration(seconds: float) -> str:
    """Seconds as a person says them: "0.35 s", "42 s", "4 min 10 s", "2 h 5 min", "3 d 4 h"."""
    if not math.isfinite(seconds):
        return number(seconds)
    if abs(seconds) < 60:
        return f"{number(seconds)} s"
    sign, whole = ("-" if seconds < 0 else ""), round(abs(seconds))
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if hours == 0:
        return f"{sign}{minutes} min {whole % 60} s"
    if days == 0:
        return f"{sign}{hours} h {minutes % 60} min"
    return f"{sign}{days} d {hours % 24} h"


def moment(seconds: float) -> str:
    """Seconds since 1970 as date and time in UTC."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, OSError, ValueError):  # beyond the year 9999
        return f"{number(seconds)} s"


def percent(fraction: float) -> str:
    """A fraction as whole percent."""
    return f"{100 * fraction:.0f} %"


def of_baseline(before: float | None, after: float | None) -> str:
    """The level after against the one before: "5 % of baseline", "4× baseline"; "" where a ratio says nothing."""
    if before is None or after is None or not (math.isfinite(before) and math.isfinite(after)) or before <= 0:
        return ""
    ratio = after / before
    if not math.isfinite(ratio) or ratio < 0:
        return ""
    if ratio >= 1.1:
        return f"{number(float(f'{ratio:.2g}'))}× baseline"
    return f"{percent(ratio)} of baseline" if ratio >= 0.01 or ratio == 0 else "under 1 % of baseline"


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


def sparkline(values: Iterable[float]) -> str:
    """Eight-level bars between the smallest and the largest finite value."""
    levels = list(values)
    finite = [value for value in levels if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    top = len(BARS) - 1

    def bar(value: float) -> str:
        if not math.isfinite(value):
            return NOT_FINITE
        above, span = value / 2 - low / 2, high / 2 - low / 2  # halves: the difference of two floats can overflow
        return BARS[round(top * (above / span))] if span > 0 else BARS[0]

    return "".join(map(bar, levels))


def thinned(values: Sequence[float], count: int) -> Sequence[float]:
    """At most `count` of the values, evenly spaced, the last one among them."""
    if len(values) <= count:
        return values
    return [values[(index + 1) * len(values) // count - 1] for index in range(count)]


def steps(span: tuple[int, int] | None) -> str:
    """A closed range of steps."""
    if span is None:
        return "no steps"
    return f"step {span[0]}" if span[0] == span[1] else f"steps {span[0]} to {span[1]}"


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


def counted(count: int, singular: str, plural: str = "") -> str:
    """ "1 row", "2 rows"."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


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


def followed(root: Finding) -> str:
    """The heading above an incident's other findings: they follow from a cause, and come with a first mover."""
    return "What followed from it" if root.relation == "cause" else "What came with it"


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


def show_command(finding: Finding, source: str) -> str:
    """The command that shows the step of the finding's first sample."""
    return f"rlprobe show {argument(source)} --step {plain(finding.samples[0].split('/', 1)[0])}"


def argument(text: str) -> str:
    """A path as a person may paste it into a shell."""
    return shlex.quote(plain(text))


def sentence_case(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]
