"""The self-test's own material: correct pipelines that provoke nothing, mutants that are what they say."""

import pytest

from rlprobe.verifier.catalog import entries
from rlprobe.verifier.engine import verify
from rlprobe.verifier.selftest.measure import all_mutants, bases
from rlprobe.verifier.selftest.mutant import load, source_of
from tests.support.spread import spread


@pytest.mark.parametrize(
    "name",
    spread(bases(), few=12, marks=lambda one: [pytest.mark.trl] if "torch" in source_of(one) else []),
)
def test_a_correct_pipeline_has_no_failing_check(name):
    report = verify(load(source_of(name), name))

    assert [(one.id, one.outcome.statement) for one in report.failures] == []
    assert not [one.outcome.statement for one in report.results if "the check itself failed" in one.outcome.statement]


def test_no_two_mutants_have_one_name():
    names = [(one.base, one.id) for one in all_mutants()]

    assert len(names) == len(set(names))


def test_every_mutant_is_one_change_of_its_base():
    for mutant in all_mutants():
        assert mutant.text() != source_of(mutant.base), mutant  # it raises where the changed text does not stand once
        assert mutant.stage != "source", mutant


def test_every_id_has_the_digit_of_its_stage():
    digits = {"reward": "1", "advantages": "2", "logprobs": "3", "loss": "4", "decode": "5", "reference": "6"}
    digits |= {"configuration": "7", "source": "8"}

    assert [one.check.id for one in entries() if one.check.id[1] != digits[one.check.stage]] == []
    assert len({one.check.id for one in entries()}) == len(entries())
