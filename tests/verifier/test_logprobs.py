"""Log-probs, entropies and scores: layouts and temperatures are measured, the bugs are found, conventions are not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.verifier.engine import verify
from rlprobe.verifier.measure.logprobs import WIDE, laid_out, measured
from rlprobe.verifier.measure.logprobs_entropy import in_form
from rlprobe.verifier.measure.logprobs_entropy import measured as measured_entropy
from rlprobe.verifier.oracles import logprobs as oracle
from rlprobe.verifier.pipeline import Pipeline
from rlprobe.verifier.selftest.measure import mutant_score
from rlprobe.verifier.selftest.mutants.logprobs import MUTANTS
from rlprobe.verifier.subject import Subject
from tests.verifier import mutants


@pytest.mark.parametrize("mutant", mutants.cases(MUTANTS, few=6), ids=mutants.name)
def test_each_bug_of_log_probs_is_found_in_its_stage(mutant):
    score = mutant_score(mutant)

    assert score.right_first, score


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([*WIDE, "shifted"]), st.floats(0.3, 3.0))
def test_layout_and_temperature_are_measured(layout, temperature):
    def logprobs(logits, ids):
        return laid_out(logits, ids, layout, temperature)

    subject = Subject(Pipeline(logprobs=logprobs))
    found = measured(subject)

    assert found.layout == layout
    assert found.temperature == pytest.approx(temperature, rel=1e-3)
    assert not verify(Pipeline(logprobs=logprobs), only="logprobs").failures


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 9), st.floats(0.1, 20.0), st.integers(0, 10_000))
def test_the_oracle_of_entropy_lies_between_its_bounds_and_is_mean_surprise(vocabulary, sharpness, seed):
    logits = sharpness * np.random.default_rng(seed).normal(size=(2, 3, vocabulary))
    entropies = oracle.entropy(logits)
    every = np.stack([oracle.chosen(logits, np.full((2, 3), token)) for token in range(vocabulary)])

    assert np.all(entropies >= -1e-9)
    assert np.all(entropies <= np.log(vocabulary) + 1e-9)
    assert np.allclose(entropies, -(np.exp(every) * every).sum(axis=0))


@pytest.mark.parametrize(
    "form",
    ["token", "token, shifted", "row mean", "row sum", "mean over tokens", "mean of row means", "sum over tokens"],
)
def test_every_form_of_entropy_is_recognised_and_passes(form):
    def entropy(logits, mask):
        return in_form(oracle.entropy(logits), mask, form)

    assert measured_entropy(Subject(Pipeline(entropy=entropy))).form == form
    assert not verify(Pipeline(entropy=entropy), only="logprobs").failures


def _scored(logits, ids, temperature):
    return oracle.chosen(logits, ids, temperature)


@pytest.mark.parametrize(("inside", "status"), [(0.7, "pass"), (1.0, "warn"), (1 / 0.7, "fail"), (1.4, "fail")])
def test_a_fixed_temperature_is_compared_with_the_declared_one(inside, status):
    pipeline = Pipeline(logprobs=lambda logits, ids: _scored(logits, ids, inside), config={"temperature": 0.7})
    (result,) = verify(pipeline, only="V307").results

    assert result.status == status


def test_the_smallest_failing_input_still_fails():
    def logprobs(logits, ids):
        return -oracle.chosen(logits, ids)

    (result,) = verify(Pipeline(logprobs=logprobs), only="V301").failures
    example = result.outcome.example

    assert np.size(example["ids"]) == 1
    assert logprobs(example["logits"], example["ids"]).max() > 0
    assert result.outcome.fingerprint == "negated"


@pytest.mark.trl
def test_left_padding_is_judged_by_the_declared_side():
    from rlprobe.verifier.selftest.mutant import load, source_of

    text = source_of("tiny_lm_torch").replace(", position_ids=position_ids)\n    logits", ")\n    logits")
    verdicts = {}
    for side in ("left", "right", ""):
        declared = text.replace('"pad_side": "left"', f'"pad_side": "{side}"' if side else '"gamma": 1.0')
        (result,) = verify(load(declared, f"side-{side}"), only="V312").results
        verdicts[side] = result.status

    assert verdicts == {"left": "fail", "right": "not_applicable", "": "warn"}
