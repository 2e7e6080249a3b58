"""What a fault and a healthy variant are."""

from dataclasses import dataclass, field

from rlprobe.lab.recipe import Recipe

BASE = Recipe()  # the healthy run that most entries differ from in one thing


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A recipe that goes wrong at one mechanism.

    Attributes:
        name: what `rlprobe demo` calls it.
        description: one sentence: what is wired wrongly.
        signatures: ids that the doctor must find in it, the root first.
        recipe: how it trains.
        onset: fraction of the run at which the mechanism sets in, 0 for the first step; None where it is wired from the
            start and does harm once training has carried the policy there.
    """

    name: str
    description: str
    signatures: tuple[str, ...]
    recipe: Recipe = field(repr=False)
    onset: float | None = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A recipe that trains as it should.

    Attributes:
        name: what `rlprobe demo` calls it; begins with "healthy-".
        description: one sentence: what is natural about it.
        look_alike_of: ids that its curves resemble and that must stay quiet.
        recipe: how it trains.
    """

    name: str
    description: str
    look_alike_of: tuple[str, ...]
    recipe: Recipe = field(repr=False)
