"""One-line bugs of the correct pipelines, a file a stage or function."""

import pkgutil
from functools import cache
from importlib import import_module

from rlprobe.verifier.selftest.mutant import Mutant


@cache
def every() -> tuple[Mutant, ...]:
    """Every mutant, whether or not its base can be built here."""
    modules = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return tuple(mutant for module in modules for mutant in module.MUTANTS)


def named(base: str, id: str) -> Mutant:
    """The mutant of a name on a base.

    Raises:
        KeyError: there is none.
    """
    for mutant in every():
        if (mutant.base, mutant.id) == (base, id):
            return mutant
    raise KeyError(f"no mutant {id} of {base}")
