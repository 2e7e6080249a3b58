from pathlib import Path

from tests.support.logs import run_of


def test_beta_is_found_where_loss_over_kl_stays_the_same(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        *({"step": n, "reward_std": 0.1, "kl": n / 100, "loss": round(0.04 * n / 100, 4)} for n in range(1, 30)),
    )

    assert run.manifest.settings["kl_coefficient"] == 0.04
    assert "kl_coefficient" in run.manifest.inferred_settings


def test_beta_is_not_invented_where_the_policy_term_speaks(tmp_path: Path) -> None:
    run = run_of(
        tmp_path, *({"step": n, "reward_std": 0.1, "kl": n / 100, "loss": (-1) ** n * 0.01} for n in range(1, 30))
    )

    assert "kl_coefficient" not in run.manifest.settings


def test_a_logged_coefficient_is_read_and_not_inferred(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"step": 1, "actor/kl_coef": 0.0010000000474974513, "actor/entropy": 0.2})

    assert run.manifest.settings["kl_coefficient"] == 0.001
    assert run.manifest.inferred_settings == frozenset()


def _lengths(*longest: float, truncated: float) -> list[dict[str, object]]:
    return [
        {"step": n, "response_length/max": length, "response_length/clip_ratio": truncated}
        for n, length in enumerate(longest)
    ]


def test_the_length_cap_is_what_truncated_rows_hit_again_and_again(tmp_path: Path) -> None:
    run = run_of(tmp_path, *_lengths(300, 512, 400, 512, 512, truncated=0.1))

    assert run.manifest.settings["max_completion_tokens"] == 512


def test_a_constant_length_without_truncation_is_no_cap(tmp_path: Path) -> None:
    run = run_of(tmp_path, *_lengths(*[1] * 20, truncated=0.0))

    assert "max_completion_tokens" not in run.manifest.settings


def test_the_logging_interval_is_the_distance_of_trl_steps(tmp_path: Path) -> None:
    run = run_of(tmp_path, *({"step": step, "reward": 1.0, "reward_std": 0.1} for step in (1, 10, 20, 30, 40)))

    assert run.manifest.settings["logging_steps"] == 10


def test_no_interval_is_told_of_trainers_that_may_count_samples(tmp_path: Path) -> None:
    run = run_of(
        tmp_path, *({"step": step, "objective/verifiable_reward": 1.0} for step in (256, 512, 768, 1024, 1280))
    )

    assert "logging_steps" not in run.manifest.settings


def test_a_correction_between_samplers_is_none_where_the_trainer_itself_generates(tmp_path: Path) -> None:
    settings = {"vllm_importance_sampling_correction": True, "top_p": 0.9, "num_generations": 8, "learning_rate": 1e-6}
    rows = ({"step": n, "reward": 0.5, "kl": 0.1} for n in range(1, 4))
    alone = run_of(tmp_path, {"config": {**settings, "use_vllm": False}}, *rows)
    apart = run_of(tmp_path, {"config": {**settings, "use_vllm": True}}, {"step": 1, "reward": 0.5})

    assert "sampler_correction" not in alone.manifest.settings
    assert apart.manifest.settings["sampler_correction"] is True
