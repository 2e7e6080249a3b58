"""Which thresholds of a signature are levels of the metric that it looks at, so that a chart can draw them.

A threshold is a number with a unit in words. It is a line on the chart of the signature's first metric where its unit
is that metric's own; thresholds that are relative to the run's start are not lines, and are left out.
"""

from dataclasses import dataclass

from rlprobe.doctor.catalog import UnknownSignature, entry
from rlprobe.doctor.configuration import Configuration
from rlprobe.doctor.finding import Finding

_LEVEL_UNITS = {  # metric -> the unit in which its signatures' thresholds name a level of it
    "advantage_reward_disagreement_fraction": "fraction of samples",
    "clip_fraction": "fraction of tokens",
    "empty_fraction": "fraction of completions",
    "foreign_script_fraction": "fraction of letters",
    "format_fraction": "fraction of completions",
    "kl_mean": "nats/token",
    "ratio_first_pass_deviation": "largest |ratio - 1|",
    "repetition_fraction": "fraction of 4-grams seen before",
    "reward_text_mismatch_fraction": "fraction of samples",
    "sampler_logprob_difference_mean": "nats/token",
    "staleness_mean": "updates",
    "truncated_fraction": "fraction of completions",
    "zero_variance_group_fraction": "fraction of groups without reward spread",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A level that a signature compares a metric with.

    Attributes:
        value: the level, in the metric's unit.
        name: the threshold's name in doctor.toml.
        meaning: what lies beyond it.
        signature: whose threshold it is.
    """

    value: float
    name: str
    meaning: str
    signature: str


def limits(finding: Finding, configuration: Configuration) -> tuple[Limit, ...]:
    """The levels that a finding's signature compares its first metric with, lowest first."""
    unit = _LEVEL_UNITS.get(finding.evidence[0].metric) if finding.evidence else None
    if unit is None:
        return ()
    try:
        signature = entry(finding.id).signature
    except UnknownSignature:  # a diagnosis made where another package's signature was installed
        return ()
    chosen = configuration.choice(signature.id).thresholds
    found = [
        Limit(value=chosen.get(one.name, one.value), name=one.name, meaning=one.meaning, signature=signature.id)
        for one in signature.thresholds
        if one.unit == unit
    ]
    return tuple(sorted(found, key=lambda limit: limit.value))
