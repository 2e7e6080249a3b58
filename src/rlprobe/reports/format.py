"""How text, numbers, steps and durations look on every page. Pure functions: no terminal, no clock, no environment."""

import math
import re
import shlex
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

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


def counted(count: int, singular: str, plural: str = "") -> str:
    """ "1 row", "2 rows"."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def argument(text: str) -> str:
    """A path as a person may paste it into a shell."""
    return shlex.quote(plain(text))


def sentence_case(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]
