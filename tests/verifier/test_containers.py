"""What trainers hand around: batches, settings, models, masks of tools, dicts of groups; parameters named freely."""

import numpy as np
import pytest

from rlprobe import Pipeline, verify
from rlprobe.verifier.naming import by_words
from rlprobe.verifier.roles import roles
from rlprobe.verifier.selftest.measure import all_mutants, mutant_score
from rlprobe.verifier.selftest.mutants.containers import MUTANTS
from rlprobe.verifier.subject import Subject, Unavailable

USABLE = {one.id for one in all_mutants()}


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(one, id=one.id, marks=[pytest.mark.trl] if "torch" in one.base else [])
        for one in MUTANTS
        if one.id in USABLE
    ],
)
def test_each_bug_is_found_in_its_stage(mutant):
    score = mutant_score(mutant)

    assert score.right_first, score


@pytest.mark.parametrize(
    ("slot", "name", "role"),
    [
        ("loss", "policy_token_logprobs", "logprobs"),
        ("loss", "newLogProbs", "logprobs"),
        ("loss", "behavior_logps_padded", "old_logprobs"),
        ("loss", "sft_log_probs", "ref_logprobs"),
        ("loss", "clip_ratio_lower", "clip_low"),
        ("loss", "agent_turn_mask", "tool_mask"),
        ("loss", "response_token_mask", "mask"),
        ("loss", "critic_values", "values"),
        ("loss", "kl_penalty_weight", "kl_coefficient"),
        ("loss", "learning_rate", ""),
        ("advantages", "rollouts_per_prompt", "group_size"),
        ("advantages", "question_ids", "group_ids"),
        ("dpo_loss", "logp_of_rejected", "rejected_logprobs"),
        ("dpo_loss", "reference_chosen_scores", "ref_chosen_logprobs"),
        ("gae", "is_terminal", "dones"),
        ("gae", "num_tokens_len", "width"),
        ("logprobs", "sampling_temp", "temperature"),
        ("completion_mask", "stop_token", "eos_id"),
    ],
)
def test_the_words_of_a_name_say_its_role(slot, name, role):
    assert by_words(name, slot, frozenset(one.name for one in roles(slot))) == role


def test_a_place_in_the_signature_says_nothing_against_the_name():
    def loss(ratio, advantages, mask):
        return -(ratio * advantages[:, None] * mask).sum()

    with pytest.raises(Unavailable, match='"ratio" is not known'):
        Subject(Pipeline(loss=loss)).function("loss")


def test_what_stands_behind_an_unknown_parameter_is_handed_over_by_name():
    def loss(logps, old_logps, advantages, mask, debug=None, epsilon=0.2):
        assert debug is None
        ratio = np.exp(logps - old_logps)
        gain = np.minimum(ratio * advantages[:, None], ratio.clip(1 - epsilon, 1 + epsilon) * advantages[:, None])
        return -(gain * mask).sum() / mask.sum()

    report = verify(Pipeline(loss=loss), only="V401,V441")

    assert [result.status for result in report.results] == ["pass", "pass"]


def test_settings_that_nobody_handed_over_are_no_fault_of_the_code():
    def loss(logprobs, old_logprobs, advantages, mask, cfg):
        return -(np.exp(logprobs - old_logprobs) * advantages[:, None] * mask).sum() / cfg.micro_batches

    report = verify(Pipeline(loss=loss), only="V4")

    assert report.failures == ()
    assert "reads settings that nobody handed over" in report.results[0].outcome.statement


def test_ids_of_groups_may_be_keys_of_a_dict():
    def advantages(scores, uid):
        groups = {}
        for one, score in zip(uid, scores, strict=True):
            groups.setdefault(one, []).append(score)
        return np.array([score - np.mean(groups[one]) for one, score in zip(uid, scores, strict=True)])

    report = verify(Pipeline(advantages=advantages), only="V2")

    assert report.failures == ()
    assert sum(result.status == "pass" for result in report.results) >= 10


def test_a_reward_may_take_the_whole_row():
    def reward(sample):
        return float(sample["response"].rstrip(".").endswith(f" {sample['answer']}"))

    report = verify(Pipeline(reward=reward, dataset=[{"prompt": "6 * 7?", "answer": "42"}]), only="V101")

    assert report.results[0].status == "pass"


def test_a_declared_temperature_that_is_not_applied_fails_unless_it_is_applied_before():
    def logprobs(logits, ids):
        shifted = logits - logits.max(axis=-1, keepdims=True)
        normal = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
        return np.take_along_axis(normal, ids[..., None], axis=-1)[..., 0]

    def status(**declared):
        pipeline = Pipeline(logprobs=logprobs, declare={"temperature": 0.7, **declared})
        return verify(pipeline, only="V307").results[0].status

    assert (status(), status(raw_logits=False)) == ("fail", "pass")
