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
        worry: what people see, in one sentence.
        asks: the evidence that makes it normal, without which nothing is said, in one sentence.
        explanation: why it is normal in this run; the judgement's facts and {metrics}, the names of the metrics told as
            evidence, are filled in.
        also: a further sentence, told where the judgement's `also` holds; facts are filled in.
        requires: metrics that it cannot do without, as in Signature.requires.
        shows: metrics told as evidence.
        unless: signatures whose finding takes the reassurance back.
        weight: how often it makes people stop a sound run, 1 to 9; the heaviest are told first.
    """

    id: str
    title: str
    worry: str
    asks: str
    explanation: str
    requires: tuple[str, ...]
    shows: tuple[str, ...]
    unless: tuple[str, ...]
    weight: int
    also: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Normality:
    """What is normal at each of the newest rows; the last row counts.

    Attributes:
        holds: (n,) the look-alike is there and its evidence says that it is normal.
        also: (n,) the definition's further sentence is true; None: it has none.
        about: metric -> (n,) whether it is one of those spoken of; None: all that the definition shows.
        facts: numbers for the explanation, taken at the last row.
    """

    holds: BoolArray
    also: BoolArray | None = None
    about: Mapping[str, BoolArray] | None = None
    facts: Mapping[str, FloatArray] = field(default_factory=dict)
