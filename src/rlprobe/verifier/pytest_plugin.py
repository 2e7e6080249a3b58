"""One test a check: write a fixture `rlprobe_pipeline` and a test that takes `rlprobe_check`.

    @pytest.fixture(scope="module")
    def rlprobe_pipeline():
        return Pipeline(loss=my_loss, advantages=my_advantages, declare={"algorithm": "grpo"})

    def test_invariant(rlprobe_check):
        rlprobe_check.require()

Loaded by pytest through its entry point; imports the verifier only where a test asks for it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rlprobe.verifier.report import Report, Result

FIXTURE = "rlprobe_check"


@dataclass(frozen=True, slots=True)
class CheckedInvariant:
    """One check of the verification that the test module asked for.

    Attributes:
        result: the check with its outcome.
    """

    result: "Result"

    def require(self, *, warnings: bool = False) -> None:
        """Fail the test where the invariant is violated, skip it where it cannot be checked.

        Args:
            warnings: whether something to look at fails the test as well.
        """
        outcome = self.result.outcome
        if outcome.status in ("not_checkable", "not_applicable"):
            pytest.skip(outcome.statement or outcome.status)
        if outcome.status == "fail" or (warnings and outcome.status == "warn"):
            lines = [f"{self.result.id} {self.result.check.title}: {outcome.statement}"]
            lines += [f"expected {outcome.expected}, got {outcome.got}"] if outcome.expected or outcome.got else []
            lines += [f"looks like: {outcome.fingerprint}"] if outcome.fingerprint else []
            lines += [self.result.where, f"What to try: {self.result.fix}", self.result.repro()]
            lines.append(f"rlprobe explain {self.result.id}")
            pytest.fail("\n".join(line for line in lines if line), pytrace=False)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One instance of the test a check, named by its id."""
    if FIXTURE not in metafunc.fixturenames:
        return
    from rlprobe.verifier import catalog

    ids = [entry.check.id for entry in catalog.entries() if entry.check.stage != "source"]
    metafunc.parametrize(FIXTURE, ids, indirect=True)


@pytest.fixture(scope="module")
def rlprobe_report(rlprobe_pipeline: object) -> "Report":
    """The whole report of the module's pipeline or trainer."""
    from rlprobe.verifier.engine import verify

    return verify(rlprobe_pipeline)


@pytest.fixture
def rlprobe_check(request: pytest.FixtureRequest, rlprobe_report: "Report") -> CheckedInvariant:
    """One check of the module's pipeline."""
    return CheckedInvariant(next(result for result in rlprobe_report.results if result.id == request.param))
