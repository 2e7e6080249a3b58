"""A live TRL trainer: silent as it comes, found out with one line of its own source changed."""

import pytest

pytestmark = [pytest.mark.trl, pytest.mark.slow, pytest.mark.filterwarnings("default")]
pytest.importorskip("trl")

from bench.verifier.trl_sources import CORRECT, MUTANTS, build, mutated  # noqa: E402 - only where TRL is

from rlprobe import verify  # noqa: E402 - see above


@pytest.mark.parametrize("name", CORRECT)
def test_an_unchanged_trainer_has_no_failing_check(name, tmp_path):
    kind, settings = CORRECT[name]

    report = verify(build(kind, settings, tmp_path))

    assert [(result.id, result.outcome.statement) for result in report.failures] == []
    assert report.count("pass") >= 3
    assert not [one for one in report.results if "the check itself failed" in one.outcome.statement]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.id)
def test_one_changed_line_is_found_in_its_stage(mutant, tmp_path):
    report = verify(build(mutant.trainer, mutant.settings, tmp_path, of=mutated(mutant)))

    assert report.failures
    assert report.failures[0].stage == mutant.stage
