"""What a reassurance is: data that says what looks alarming and why it is normal, and one function that judges."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rlprobe.recording.run import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Normal:
    """The definition of one thing that worries people for nothing.

    Attributes:
        id: stable name of the look-alike.
        title: at most 60 characters, no number.
        explanation: why it is normal in this run; {after} of each shown metric and the judgement's facts are filled in.
        requires: metrics that it cannot do without, as in Signature.requires.
        shows: metrics told as evidence.
        unless: signatures whose finding takes the reassurance back.
    """

    id: str
    title: str
    explanation: str
    requires: tuple[str, ...]
    shows: tuple[str, ...]
    unless: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Normality:
    """What is normal at each of the newest rows; the last row counts.

    Attributes:
        holds: (n,) the look-alike is there and its evidence says that it is normal.
        facts: numbers for the explanation, taken at the last row.
    """

    holds: BoolArray
    facts: Mapping[str, FloatArray] = field(default_factory=dict)
