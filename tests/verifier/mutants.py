"""The mutants of a stage as parameters of its test."""

from collections.abc import Iterable

import pytest

from rlprobe.verifier.selftest.measure import all_mutants
from rlprobe.verifier.selftest.mutant import Mutant, source_of
from tests.support.spread import spread


def cases(mutants: Iterable[Mutant], few: int) -> list[object]:
    """Those that can be built here: of the ones without torch the fast run takes a few, those of torch need it."""
    usable = {(one.base, one.id) for one in all_mutants()}  # those of torch only where torch is
    listed = [one for one in mutants if (one.base, one.id) in usable]
    of_torch = {one.base for one in listed if "import torch" in source_of(one.base)}
    plain = spread([one for one in listed if one.base not in of_torch], few)
    return plain + [pytest.param(one, marks=pytest.mark.trl) for one in listed if one.base in of_torch]


def name(mutant: Mutant) -> str:
    """What stands in the test's name."""
    return f"{mutant.base}-{mutant.id}"
