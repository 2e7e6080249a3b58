"""Names, texts and the guard of the TRL integration: what needs no trainer."""

import math

import pytest

from rlprobe.importers.keymaps.trl import MAP
from rlprobe.integrations.guard import HookGuard
from rlprobe.integrations.trl_keys import KEYS, KEYS_OF, METADATA, canonical, evaluation_name, fold, metadata_of, number
from rlprobe.integrations.trl_texts import as_json, mismatched, received_text, shown
from rlprobe.recording.metrics import find


def test_every_key_that_is_known_has_a_canonical_name() -> None:
    names = {key.name for key in KEYS.values()} | set(METADATA)
    assert {name for name in names if find(name) is None} == {"trl/step_time", "trl/kl"}


# A live recording knows more than a log: the loss's terms apart, what a number is of, that it is no whole step.
OTHERWISE = {"step_time", "policy_loss", "val/contain_eos_token", "kl"}


@pytest.mark.parametrize("algorithm", ["grpo", *KEYS_OF])
def test_a_key_means_the_same_live_and_in_a_log(algorithm: str) -> None:
    """The table of the importer has notes, versions and scales; the live one folds. Both must name one metric."""
    keys = {**KEYS, **KEYS_OF.get(algorithm, {})}
    seen = {*keys, *(["loss/score"] if algorithm == "nash_md" else [])}  # a log is known by what it has
    for key in keys.keys() - OTHERWISE:
        found = MAP.find(key, seen)
        metric = "" if found is None else found[0].metric
        assert not metric or metric == canonical(key, algorithm).name, key


def test_every_other_kind_of_trainer_has_canonical_names_too() -> None:
    own = {"trl/kl", "trl/contain_eos_token", "episode"}
    names = {key.name for table in KEYS_OF.values() for key in table.values()}

    assert {name for name in names if find(name) is None} == own
    assert metadata_of("ppo")["kl_mean"].per == "token"
    assert metadata_of("online_dpo")["objective/kl"].per == "sequence"
    assert metadata_of("grpo") is METADATA


def test_a_sum_with_its_count_is_a_number_and_nothing_at_all_is_none() -> None:
    assert number((6.0, 3)) == 2
    assert math.isnan(number((0.0, 0)))
    assert math.isnan(number(None))


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("rewards/format/mean", "reward_component_mean/format"),
        ("rewards/org/judge-7b/std", "reward_component_std/org/judge-7b"),
        ("policy_loss", "trl/policy_loss"),
        ("my_metric", "my_metric"),
    ],
)
def test_a_training_key_is_translated_or_kept(key: str, name: str) -> None:
    assert canonical(key).name == name


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("eval_reward", "evaluation_score/reward"),
        ("eval_gsm8k_reward", "evaluation_score/gsm8k_reward"),
        ("eval_rewards/correct/mean", "evaluation_score/correct"),
        ("eval_gsm8k_rewards/correct/mean", "evaluation_score/gsm8k_correct"),
        ("eval_rewards/correct/std", "evaluation/rewards/correct/std"),
        ("eval_rewards/accuracies", "evaluation_score/preference_accuracy"),
        ("eval_helpful_rewards/accuracies", "evaluation_score/helpful_preference_accuracy"),
        ("eval_loss", "evaluation/loss"),
        ("eval_reward_std", "evaluation/reward_std"),
        ("eval_frac_reward_zero_std", "evaluation/frac_reward_zero_std"),
    ],
)
def test_scores_of_an_evaluation_are_told_from_its_other_numbers(key: str, name: str) -> None:
    assert evaluation_name(key) == name


def test_several_values_of_a_step_become_one_and_nan_stays() -> None:
    assert fold([1.0, 2.0, 6.0], "mean") == 3
    assert fold([1.0, 2.0, 6.0], "max") == 6
    assert fold([1.0, 2.0, 0.5], "min") == 0.5
    assert fold([1.0, 2.0], "last") == 2
    assert math.isnan(fold([1.0, math.nan], "mean"))


@pytest.mark.parametrize(
    ("received", "wrong"),
    [
        ("<12>", False),
        ("<12> ", True),
        ("", True),
        ([{"role": "assistant", "content": "<12>"}], False),
        ([{"role": "assistant", "content": ""}], True),
        ([{"role": "assistant", "content": "", "tool_calls": [{"name": "sort"}]}], False),
        ([{"role": "assistant", "content": "<12>"}, {"role": "tool", "content": "other"}], False),
        ([{"role": "assistant", "content": "<21>"}], True),
        (None, True),
    ],
)
def test_a_reward_function_received_what_was_generated_or_not(received: object, wrong: bool) -> None:
    assert mismatched(received, "<12>") is wrong


def test_messages_are_shown_as_text_and_media_by_their_kind() -> None:
    chat = [{"role": "user", "content": [{"type": "image", "image": object()}, {"type": "text", "text": "what?"}]}]
    assert shown(chat) == "<image>what?"
    assert as_json(chat) == (
        '[{"role": "user", "content": [{"type": "image", "image": "<object>"}, {"type": "text", "text": "what?"}]}]'
    )
    assert as_json("plain") is None
    assert received_text([{"role": "assistant", "content": "a"}, {"role": "tool", "content": "b"}]) == "a"


def test_a_guard_reports_each_kind_of_failure_of_a_hook_once() -> None:
    told: list[tuple[str, str, str, str]] = []
    guard = HookGuard(lambda *fields: told.append(fields))
    for error in (ValueError("one"), ValueError("two"), KeyError("three")):
        with guard("hook"):
            raise error

    assert guard.failures == 3
    assert [(hook, kind, message) for hook, kind, message, _ in told] == [
        ("hook", "ValueError", "one"),
        ("hook", "KeyError", "'three'"),
    ]


def test_a_guard_whose_report_fails_still_swallows() -> None:
    guard = HookGuard(lambda *_: 1 / 0)
    with guard("hook"):
        raise ValueError("one")

    assert guard.failures == 1


def test_an_interrupt_is_the_users_and_passes() -> None:
    guard = HookGuard(lambda *_: None)
    with pytest.raises(KeyboardInterrupt), guard("hook"):
        raise KeyboardInterrupt
