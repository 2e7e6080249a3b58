"""Runs every correct pipeline and every mutant through the verifier and counts."""

import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import util

from rlprobe.verifier.engine import verify
from rlprobe.verifier.report import Result
from rlprobe.verifier.selftest import correct, mutants
from rlprobe.verifier.selftest.mutant import Mutant, load, source_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What the verifier said of one pipeline.

    Attributes:
        name: mutant's id or the correct pipeline's module.
        failing: ids of the checks that failed, beyond those that fail on the unchanged base (none should).
        first_stage: stage of the first failure; "" where nothing failed.
        stage: the stage that should fail first; "" for a correct pipeline.
    """

    name: str
    failing: tuple[str, ...]
    first_stage: str
    stage: str = ""

    @property
    def killed(self) -> bool:
        """Whether the mutant was found."""
        return bool(self.failing)

    @property
    def right_first(self) -> bool:
        """Whether the first failure is of the mutant's own stage."""
        return self.killed and self.first_stage == self.stage


def bases() -> tuple[str, ...]:
    """Names of the correct pipelines that can be built here: those for torch only where torch is installed."""
    have_torch = util.find_spec("torch") is not None
    names = [module.name for module in pkgutil.iter_modules(correct.__path__)]
    return tuple(name for name in names if have_torch or "import torch" not in source_of(name))


def all_mutants() -> tuple[Mutant, ...]:
    """Every mutant whose base can be built here, by stage and id."""
    usable = set(bases())
    return tuple(one for one in mutants.every() if one.base in usable)


def correct_score(name: str, *, seed: int = 0) -> Score:
    """What is said of a correct pipeline: nothing should fail."""
    report = verify(load(source_of(name), name), seed=seed)
    return Score(name=name, failing=_ids(report.failures), first_stage=_first(report.failures))


def mutant_score(mutant: Mutant, *, seed: int = 0) -> Score:
    """What is said of a mutant."""
    report = verify(load(mutant.text(), mutant.id), seed=seed)
    return Score(name=mutant.id, failing=_ids(report.failures), first_stage=_first(report.failures), stage=mutant.stage)


def distinct(scores: Iterable[Score]) -> int:
    """Mutants that were killed, those with the same killing set counted once."""
    return len({score.failing for score in scores if score.killed})


def _ids(failures: Iterable[Result]) -> tuple[str, ...]:
    return tuple(result.id for result in failures)


def _first(failures: Iterable[Result]) -> str:
    return next((result.stage for result in failures), "")
