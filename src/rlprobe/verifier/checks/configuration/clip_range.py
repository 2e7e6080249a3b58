"""Clip edges leave room on both sides of a ratio of one, and less room than the ratio itself."""

from rlprobe.verifier.measure.settings import Settings, settings
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

UNBOUNDED = ("cispo", "sapo", "vespo")  # losses whose range is a weight's bound, not an edge of the ratio
HIGHEST, LOWEST_TOKEN, HIGHEST_SEQUENCE = 0.5, 0.01, 0.05
CHECK = Check(
    id="V703",
    title="clip edges lie between zero and one",
    formula="0 < clip_low < 1, 0 < clip_high, clip_low <= clip_high",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Set 0.2 below and 0.2 to 0.28 above for token ratios, 3e-4 and 4e-4 for sequence ratios.",
    causes=("CLIP_SATURATION", "CONFIG_MISUSE"),
)


def run(subject: Subject) -> Outcome:
    """Each edge, then their order and their size for the kind of ratio."""
    given = settings(subject)
    edges = {name: given.number(name) for name in ("clip", "clip_low", "clip_high")}
    known = {name: value for name, value in edges.items() if value is not None}
    if not known or given.algorithm in ("dpo", "ipo", "kto"):
        return not_checkable("no clip range is set", missing=("config.clip",))
    free = given.loss in UNBOUNDED or given.algorithm in UNBOUNDED
    for name, value in known.items():
        if not value > 0 or (value >= 1 and name != "clip_high" and not free):
            return failed(
                "config",
                f"{given.named(name)} is {value:g}: the clip range leaves "
                f"{'nothing to learn from' if value <= 0 else 'no lower edge'}.",
                expected="above 0 and below 1",
                got=f"{value:g}",
                example=given.example(*known),
            )
    upper = given.number("upper_clip")
    high = known.get("clip_high", known.get("clip", 0.0))
    if upper is not None and upper <= 1 + high:
        return failed(
            "config",
            f"{given.named('upper_clip')} is {upper:g}, inside the clip range that ends at {1 + high:g}.",
            expected=f"above {1 + high:g}",
            got=f"{upper:g}",
            example=given.example("upper_clip", *known),
        )
    return _risky(given, known, free=free)


def _risky(given: Settings, known: dict[str, float], *, free: bool) -> Outcome:
    low, high = known.get("clip_low", known.get("clip")), known.get("clip_high", known.get("clip"))
    sequence = given.algorithm == "gspo" or (given.text("ratio") == "sequence" and given.algorithm != "rloo")
    for name, value in known.items():
        told = ""
        if sequence and value > HIGHEST_SEQUENCE:
            told = f"a sequence ratio, normalised by length, seldom leaves 1 by more than {HIGHEST_SEQUENCE:g}"
        elif not sequence and value < LOWEST_TOKEN:
            told = "nearly every token ratio is outside after the first update"
        elif not free and value > HIGHEST:
            told = "nothing is clipped any more"
        if told:
            return warned(
                "config",
                f"{given.named(name)} is {value:g}: {told}.",
                expected="0.1 to 0.3",
                got=f"{value:g}",
                example=given.example(*known),
            )
    if low is not None and high is not None and high < low and not free:
        return warned(
            "config",
            f"The upper clip range {high:g} is narrower than the lower one {low:g}.",
            expected=f"at least {low:g}",
            got=f"{high:g}",
            example=given.example(*known),
            fingerprint="edges exchanged",
        )
    return passed()
