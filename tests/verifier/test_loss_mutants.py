"""Every bug of the loss stage is found, and first in the loss stage."""

import pytest

from rlprobe.verifier.selftest.measure import distinct, mutant_score
from rlprobe.verifier.selftest.mutants import loss_kl, loss_policy, loss_preference, loss_value, loss_weights
from tests.verifier import mutants

MUTANTS = [
    one for module in (loss_kl, loss_policy, loss_preference, loss_value, loss_weights) for one in module.MUTANTS
]
SCORES = {}


@pytest.mark.parametrize("mutant", mutants.cases(MUTANTS, few=5), ids=mutants.name)
def test_each_bug_of_a_loss_is_found_in_its_stage(mutant):
    SCORES[mutant.id] = score = mutant_score(mutant)

    assert score.right_first, score


@pytest.mark.trl
def test_the_bugs_differ_in_what_they_break():
    for mutant in MUTANTS:
        if mutant.id not in SCORES:
            SCORES[mutant.id] = mutant_score(mutant)

    assert distinct(SCORES.values()) >= 100
