from pathlib import Path

import pytest

from rlprobe.importers.keymaps import maps
from rlprobe.importers.rows.plan import Plan
from rlprobe.recording.metrics import find
from tests.support.logs import logged_values, run_of


def test_every_metric_that_a_key_map_names_is_canonical() -> None:
    unknown = [
        (each.framework, key.key)
        for each in maps()
        for key in each.keys
        if key.metric and find(key.metric.replace("{name}", "x")) is None
    ]

    assert unknown == []


def test_every_key_without_a_metric_says_why() -> None:
    silent = [(each.framework, key.key) for each in maps() for key in each.keys if not key.metric and not key.note]

    assert silent == []


def test_no_key_stands_twice_in_a_map_without_a_condition() -> None:
    twice = []
    for each in maps():
        plain = [key.key for key in each.keys if not key.when and not key.unless]
        twice += [(each.framework, key) for key in set(plain) if plain.count(key) > 1]

    assert twice == []


def test_every_framework_is_recognised_by_its_own_keys() -> None:
    for each in filter(lambda each: each.framework, maps()):
        plan = Plan()
        plan.see([key.key.replace("{name}", "x") for key in each.keys])

        assert plan.framework == each.framework


def test_verl_update_kl_is_not_the_kl_to_the_reference(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"step": 1, "actor/ppo_kl": -1e-5, "actor/pg_loss": 0.1})

    assert logged_values(run, "kl_old_mean") == {1: -1e-5}
    assert "kl_mean" not in run.metrics
    assert run.metadata("kl_old_mean").pair == "policy/old"


def test_verl_rewards_are_after_the_kl_penalty_where_a_score_is_logged(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"step": 1, "critic/score/mean": 0.5, "critic/rewards/mean": 0.4})

    assert logged_values(run, "reward_mean") == {1: 0.5}
    assert logged_values(run, "reward_with_kl_mean") == {1: 0.4}


def test_verl_rewards_are_the_reward_where_no_score_is_logged(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"step": 1, "critic/rewards/mean": 0.4})

    assert logged_values(run, "reward_mean") == {1: 0.4}
    assert "KL penalty" in run.metadata("reward_mean").note


def test_verl_rewards_stay_what_they_were_on_a_row_whose_score_was_cut_off(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        {"step": 1, "critic/score/mean": 0.5, "critic/rewards/mean": 0.4},
        {"step": 2, "critic/rewards/mean": 0.3},
    )

    assert logged_values(run, "reward_mean") == {1: 0.5}
    assert logged_values(run, "reward_with_kl_mean") == {1: 0.4, 2: 0.3}


def test_verl_reward_kl_penalty_is_the_kl_only_without_a_kl_loss(tmp_path: Path) -> None:
    alone = run_of(tmp_path, {"step": 1, "actor/reward_kl_penalty": 0.8, "actor/entropy": 0.2})
    beside = run_of(tmp_path, {"step": 1, "actor/reward_kl_penalty": 0.8, "actor/kl_loss": 0.1})

    assert logged_values(alone, "kl_mean") == {1: 0.8}
    assert "teacher" in alone.metadata("kl_mean").note
    assert logged_values(beside, "kl_mean") == {1: 0.1}


def test_verl_validation_before_the_first_step_fills_no_training_column(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"step": 0, "val-core/gsm8k/acc/mean@1": 0.2}, {"step": 1, "critic/score/mean": 0.5})

    assert logged_values(run, "evaluation_score/gsm8k/acc/mean@1") == {0: 0.2}
    assert logged_values(run, "reward_mean") == {1: 0.5}


def test_gibibytes_become_bytes_and_percents_become_fractions(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"step": 1, "perf/max_memory_allocated_gb": 2.0, "actor/pg_clipfrac": "12%"})

    assert logged_values(run, "memory_bytes") == {1: 2.0 * 1024**3}
    assert logged_values(run, "clip_fraction") == {1: 0.12}


def test_a_tool_success_rate_becomes_a_failure_fraction(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"step": 1, "rollout/tool_success_rate": 0.75, "actor/entropy": 0.2})

    assert logged_values(run, "tool_failure_fraction") == {1: 0.25}


def test_notebook_spellings_with_blanks_are_the_same_keys(tmp_path: Path) -> None:
    row = {
        "Step": "10",
        "Training Loss": "0.001700",
        "completions / mean_length": "79.5",
        "rewards / fmt / mean": "1.0",
        "kl": "No Log",
    }

    run = run_of(tmp_path, row)

    assert logged_values(run, "loss") == {10: 0.0017}
    assert logged_values(run, "completion_tokens_mean") == {10: 79.5}
    assert logged_values(run, "reward_component_mean/fmt") == {10: 1.0}
    assert logged_values(run, "kl_mean") == {}


def test_preference_keys_are_not_reward_components(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        {"step": 1, "rewards / chosen": 0.6, "rewards / margins": 1.5, "rewards / accuracies": 1.0, "loss": 0.3},
    )

    assert run.algorithm == "dpo"
    assert logged_values(run, "preference_margin_mean") == {1: 1.5}
    assert [name for name in run.metrics if name.startswith("reward_component")] == []


@pytest.mark.parametrize(
    ("extra", "metric"), [({}, "reward_std_group_mean"), ({"step_time": 3.0}, "reward_std_batch")], ids=["old", "new"]
)
def test_the_trl_version_decides_which_standard_deviation_is_logged(
    tmp_path: Path, extra: dict[str, float], metric: str
) -> None:
    run = run_of(tmp_path, {"step": 1, "reward": 0.5, "reward_std": 0.2, **extra})

    assert logged_values(run, metric) == {1: 0.2}


def test_the_newer_of_two_spellings_in_one_row_wins_and_the_other_is_kept(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"step": 1, "completion_length": 80.0, "completions/mean_length": 79.5, "reward_std": 0.1})

    assert logged_values(run, "completion_tokens_mean") == {1: 79.5}
    assert logged_values(run, "completion_length") == {1: 80.0}


def test_the_hacking_study_has_the_true_score_beside_the_proxy(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        {
            "step": 1,
            "progress/step": 1,
            "reward/mean": 0.7,
            "reward/f": 0.01,
            "reward/g": 0.7,
            "reward/g_minus_f": 0.69,
        },
    )

    assert logged_values(run, "true_reward_mean") == {1: 0.01}
    assert logged_values(run, "reward_component_mean/g") == {1: 0.7}


def test_the_keys_of_the_user_come_first(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"step": 1, "score": 0.4, "reward": 7.0}, keys={"score": "reward_mean"})

    assert logged_values(run, "reward_mean") == {1: 0.4}


def test_unknown_keys_are_kept_and_listed(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"step": 1, "reward": 1.0, "my/odd key@2": 3.0})

    assert logged_values(run, "my/odd key@2") == {1: 3.0}
    assert run.reading.unknown_keys == ("my/odd key@2",)


def test_a_fraction_is_derived_from_counts_and_marked(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"step": 1, "mean_reward": 1.0, "truncated_count": 5, "rollout_count": 20})

    assert logged_values(run, "truncated_fraction") == {1: 0.25}
    assert run.metadata("truncated_fraction").inferred


def test_a_value_head_in_the_log_makes_it_ppo(tmp_path: Path) -> None:
    assert run_of(tmp_path, {"step": 1, "actor/pg_loss": 0.1, "critic/vf_loss": 0.2}).algorithm == "ppo"
    assert run_of(tmp_path, {"step": 1, "actor/pg_loss": 0.1}).algorithm == "grpo"


@pytest.mark.parametrize(
    "row",
    [
        {"step": 3, "data": {"actor/entropy": 0.5, "critic/score/mean": 0.1}},
        {"step": 3, "actor": {"entropy": 0.5}, "critic": {"score": {"mean": 0.1}}},
    ],
    ids=["verl's file logger", "EasyR1"],
)
def test_nested_rows_of_verl_and_easyr1_are_flattened(tmp_path: Path, row: dict[str, object]) -> None:
    run = run_of(tmp_path, row)

    assert run.manifest.framework == "verl"
    assert logged_values(run, "entropy_mean") == {3: 0.5}
    assert logged_values(run, "reward_mean") == {3: 0.1}


@pytest.mark.parametrize("prefix", ["", "train/"])
def test_a_logger_s_prefix_changes_nothing(tmp_path: Path, prefix: str) -> None:
    run = run_of(
        tmp_path, {prefix + "global_step": 3, prefix + "reward": 0.5, prefix + "reward_std": 0.1, prefix + "kl": 0.2}
    )

    assert run.manifest.framework == "trl"
    assert run.metrics == ("kl_mean", "reward_mean", "reward_std_group_mean")
    assert run.metadata("kl_mean").estimator == "k3"


def test_the_spelling_of_a_custom_loop_may_be_loose(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"Step": 3, "Mean Reward": 0.5, "Grad-Norm": 1.0})

    assert logged_values(run, "reward_mean") == {3: 0.5}
    assert logged_values(run, "grad_norm") == {3: 1.0}


def test_a_log_of_plain_fine_tuning_is_given_no_algorithm(tmp_path: Path) -> None:
    assert run_of(tmp_path, {"step": 1, "loss": 2.0, "learning_rate": 1e-5, "grad_norm": 1.0}).algorithm == ""


def test_the_algorithm_outlives_rows_of_another_kind(tmp_path: Path) -> None:
    run = run_of(
        tmp_path, {"step": 1, "critic/score/mean": 0.5, "actor/entropy": 0.1}, {"step": 1, "val-aux/x/std@2": 0.1}
    )

    assert run.algorithm == "grpo"


@pytest.mark.parametrize(
    ("key", "metric"),
    [
        ("avg_kl_div", "kl_mean"),
        ("response_length_mean", "completion_tokens_mean"),
        ("Mean Token Entropy", "entropy_mean"),
        ("batch_reward", "reward_mean"),
        ("mean_reward_std", "reward_std_batch"),
    ],
)
def test_words_for_an_average_make_no_other_metric(tmp_path: Path, key: str, metric: str) -> None:
    assert logged_values(run_of(tmp_path, {"step": 1, key: 0.5}), metric) == {1: 0.5}


def test_a_moving_average_is_no_average_of_the_step(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"step": 1, "reward": 0.5, "window_mean": 0.2, "reward_ema": 0.3})

    assert logged_values(run, "reward_mean") == {1: 0.5}


def test_turns_of_verls_agent_loops_are_read(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"step": 1, "actor/entropy": 0.2, "training/num_turns/mean": 3.5})

    assert logged_values(run, "turns_mean") == {1: 3.5}
