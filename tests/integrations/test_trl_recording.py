"""What attach() hands over is what the trainer did: every step, every sample, under canonical names."""

import math
from pathlib import Path

import pytest

pytest.importorskip("trl")
import torch
from datasets import Dataset
from peft import LoraConfig

from rlprobe.integrations.trl import RlprobeCallback, attach
from rlprobe.integrations.trl_keys import canonical
from tests.integrations.memory_recorder import MemoryRecorder, recorded
from tests.integrations.tiny_model import answer_of, questions
from tests.integrations.trl_lab import CASES, Case, build, correct

pytestmark = [
    pytest.mark.trl,
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),
    pytest.mark.usefixtures("strict", "memory"),
]

OWN_ESTIMATE = frozenset(("trl/step_time",))  # a clock


@pytest.mark.parametrize("name", ["healthy", "healthy-rloo", "healthy-iterations"])
def test_every_number_that_the_trainer_logs_is_recorded_as_it_is(sorter: Path, tmp_path: Path, name: str) -> None:
    trainer = build(sorter, tmp_path, CASES[name], max_steps=8)
    recorder = recorded(trainer, tmp_path)

    logged = [row for row in trainer.state.log_history if "loss" in row]
    assert len(logged) == 8
    for row in logged:
        ours = recorder.steps[row["step"]]
        for key, value in row.items():
            where = canonical(key).name
            if key == "kl":
                where = "trl/kl"
            if key == "step" or where in OWN_ESTIMATE:
                continue
            assert ours[where] == pytest.approx(value, rel=1e-5, abs=1e-6), key


def test_a_step_is_recorded_at_every_step_however_rarely_the_trainer_logs(sorter: Path, tmp_path: Path) -> None:
    often = recorded(build(sorter, tmp_path, max_steps=10, logging_steps=1), tmp_path)
    rarely = recorded(build(sorter, tmp_path, max_steps=10, logging_steps=10), tmp_path)

    assert sorted(rarely.steps) == list(range(1, 11))
    for step in range(1, 11):
        for name in ("reward_mean", "loss", "kl_mean", "entropy_mean", "grad_norm", "learning_rate"):
            assert rarely.steps[step][name] == often.steps[step][name]


@pytest.mark.parametrize("loss_type", ["grpo", "bnpo", "dr_grpo", "dapo", "luspo", "cispo", "sapo", "vespo"])
def test_the_kl_term_is_what_the_loss_loses_without_beta(sorter: Path, tmp_path: Path, loss_type: str) -> None:
    settings = {"gradient_accumulation_steps": 2, "num_iterations": 2, "beta": 0.5, "max_steps": 2}
    trainer = build(sorter, tmp_path, loss_type=loss_type, **settings)
    without: list[float] = []
    original = trainer._compute_loss

    def twice(model: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        metrics = {key: list(value) for key, value in trainer._metrics["train"].items()}
        trainer.beta = 0.0
        with torch.no_grad():
            without.append(float(original(model, inputs)))
        trainer.beta = 0.5
        trainer._metrics["train"].clear()
        trainer._metrics["train"].update(metrics)
        return original(model, inputs)

    trainer._compute_loss = twice
    recorder = recorded(trainer, tmp_path)

    for step in (1, 2):
        expected = sum(without[2 * step - 2 : 2 * step])
        assert recorder.steps[step]["policy_loss"] == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert recorder.steps[2]["kl_loss"] > 0


@pytest.mark.parametrize("name", ["healthy", "healthy-rloo"])
def test_rows_keep_together_what_shuffling_parts(sorter: Path, tmp_path: Path, name: str) -> None:
    block = {"steps_per_generation": 4, "num_iterations": 2, "max_steps": 8, "logging_steps": 10}
    trainer = build(sorter, tmp_path, CASES[name], **block)
    recorder = recorded(trainer, tmp_path, capture="all")

    rows = recorder.rows()
    assert len(rows) == 128
    assert {row["step"] for row in rows} == {1}
    assert len({row["group"] for row in rows}) == 16
    tokens = trainer.processing_class
    for row in rows:
        assert row["reward/correct"] == float(row["completion"] == answer_of(str(row["prompt"])))
        assert row["reward"] == pytest.approx(row["reward/correct"] + row["reward/shape"])
        assert row["completion"] == tokens.decode(row["token_ids"], skip_special_tokens=True)
        assert row["advantage"] == pytest.approx(row["advantage_logged"])
        assert row["logprob"] == pytest.approx(float(row["token_logprobs"].astype("f8").mean()), abs=5e-3)
        assert len(row["token_logprobs"]) == row["completion_tokens"] == len(row["token_ids"])
        assert row["old_logprob"] == pytest.approx(row["logprob"], abs=1e-5)
    trained = [row for row in rows if row["entropy"] is not None]
    assert len(trained) == 32


def test_recorded_logprobs_are_those_of_the_model_that_generated(sorter: Path, tmp_path: Path) -> None:
    trainer = build(sorter, tmp_path, max_steps=1, learning_rate=0.0)
    rows = recorded(trainer, tmp_path, capture="all").rows()

    for row in rows[:6]:
        prompt = trainer.processing_class(row["prompt"]).input_ids
        ids = torch.tensor([prompt + row["token_ids"].tolist()])
        with torch.no_grad():
            logs = torch.log_softmax(trainer.model(input_ids=ids).logits[0, len(prompt) - 1 : -1], dim=-1)
        mean = logs.gather(-1, ids[0, len(prompt) :, None]).mean()
        entropy = -(logs.exp() * logs).sum(-1).mean()
        assert row["logprob"] == pytest.approx(float(mean), abs=1e-4)
        assert row["entropy"] == pytest.approx(float(entropy), abs=1e-4)


def test_adapters_have_the_base_weights_as_their_reference(sorter: Path, tmp_path: Path) -> None:
    lora = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    trainer = build(sorter, tmp_path, max_steps=3, peft_config=lora, learning_rate=1e-2)
    recorder = recorded(trainer, tmp_path)

    assert recorder.facts["config"]["reference"] == "adapter off"
    assert recorder.steps[1]["kl_mean"] == pytest.approx(0, abs=1e-6)
    assert recorder.steps[3]["kl_mean"] > 0
    assert recorder.steps[3]["reference_drift"] == 0
    assert recorder.steps[3]["weight_update_ratio"] > 0


def test_a_reference_that_follows_the_policy_drifts(sorter: Path, tmp_path: Path) -> None:
    settings = {"sync_ref_model": True, "ref_model_sync_steps": 1, "ref_model_mixup_alpha": 1.0}
    recorder = recorded(build(sorter, tmp_path, max_steps=3, **settings), tmp_path)

    assert recorder.steps[3]["reference_drift"] > 0
    assert recorder.facts["settings"]["sync_reference"] is True


def test_without_a_reference_there_is_no_divergence_and_none_is_invented(sorter: Path, tmp_path: Path) -> None:
    recorder = recorded(build(sorter, tmp_path, max_steps=2, beta=0.0), tmp_path)

    assert not {"kl_mean", "kl_loss", "reference_drift", "kl_max"} & set(recorder.steps[2])
    assert recorder.steps[2]["policy_loss"] == recorder.steps[2]["loss"]


def test_ratios_are_recorded_only_where_the_trainer_has_old_logprobs(sorter: Path, tmp_path: Path) -> None:
    once = recorded(build(sorter, tmp_path, max_steps=2), tmp_path)
    twice = recorded(build(sorter, tmp_path, max_steps=4, num_iterations=2), tmp_path)

    assert once.facts["config"]["old_logprobs"] is False
    assert "ratio_mean" not in once.steps[2]
    assert twice.steps[1]["ratio_first_pass_deviation"] == pytest.approx(0, abs=1e-5)
    assert "ratio_first_pass_deviation" not in twice.steps[2]
    assert twice.steps[2]["ratio_max"] > 1
    assert twice.steps[2]["staleness_max"] == 1


def test_a_step_whose_completions_are_all_masked_has_no_infinite_number(sorter: Path, tmp_path: Path) -> None:
    settings = {"mask_truncated_completions": True, "max_completion_length": 4, "num_iterations": 2}
    recorder = recorded(build(sorter, tmp_path, max_steps=2, **settings), tmp_path)

    assert {row["truncated"] for row in recorder.rows()} == {True}
    for row in recorder.steps.values():
        assert "kl_max" not in row
        assert [name for name, value in row.items() if not math.isfinite(value) and "/" not in name] == []


def test_an_evaluation_is_kept_apart_from_training(sorter: Path, tmp_path: Path) -> None:
    held_out = Dataset.from_dict({"prompt": questions(16, 99)})
    settings = {"eval_strategy": "steps", "eval_steps": 2, "per_device_eval_batch_size": 16, "logging_steps": 3}
    trainer = build(sorter, tmp_path, max_steps=4, eval_dataset=held_out, **settings)
    recorder = recorded(trainer, tmp_path)
    plain = recorded(build(sorter, tmp_path, max_steps=2), tmp_path)

    assert len(recorder.rows()) == 4 * 32
    assert {row["step"] for row in recorder.rows("evaluation")} == {2, 4}
    assert "evaluation_score/reward" in recorder.steps[2]
    assert "evaluation_score/correct" in recorder.steps[4]
    assert "evaluation_score/reward" not in recorder.steps[1]
    assert [step for kind, step, _ in recorder.events if kind == "evaluation"] == [2, 4]
    for name in ("reward_mean", "entropy_mean", "loss", "kl_mean"):
        assert recorder.steps[2][name] == plain.steps[2][name]


def test_checkpoints_resume_in_a_block_and_halts_are_events(
    sorter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"steps_per_generation": 4, "save_strategy": "steps", "save_steps": 3}
    first = recorded(build(sorter, tmp_path / "out", max_steps=3, **settings), tmp_path)
    again = build(sorter, tmp_path / "out", max_steps=8, **settings)
    resumed = recorded(again, tmp_path, resume=str(tmp_path / "out" / "checkpoint-3"))

    assert ("checkpoint", 3, {"path": str(tmp_path / "out" / "checkpoint-3")}) in first.events
    assert resumed.kinds()[:2] == ["train_begin", "resume"]
    assert sorted(resumed.steps) == [4, 5, 6, 7, 8]
    assert "reward_mean" in resumed.steps[4]  # a resumed trainer generates at once, in the middle of a block

    monkeypatch.setattr(MemoryRecorder, "should_stop", property(lambda _: True, lambda *_: None), raising=False)
    halted = recorded(build(sorter, tmp_path / "halted", max_steps=9), tmp_path)
    assert sorted(halted.steps) == [1]
    assert halted.kinds() == ["train_begin", "checkpoint", "train_end"]


def test_an_exception_that_kills_training_is_recorded_with_the_step_that_it_hit(sorter: Path, tmp_path: Path) -> None:
    calls = []

    def breaks(prompts: list[str], completions: list[str], **_: object) -> list[float]:
        calls.append(1)
        if len(calls) == 3:
            raise KeyError("gold")
        return correct(prompts, completions)

    trainer = build(sorter, tmp_path, Case(rewards=(breaks,)), max_steps=9)
    with attach(trainer, tmp_path / "run") as probe:
        recorder = probe.recorder
        with pytest.raises(KeyError):
            trainer.train()

    kind, step, fields = recorder.events[-1]
    assert (kind, step, fields["error"], fields["message"]) == ("crash", 3, "KeyError", "'gold'")
    assert "breaks" in str(fields["traceback"])
    assert sorted(recorder.steps) == [1, 2, 3]
    assert recorder.crashed
    assert recorder.closed


def test_a_gradient_that_is_no_number_is_seen_before_clipping_hides_it(sorter: Path, tmp_path: Path) -> None:
    trainer = build(sorter, tmp_path, CASES["nan-gradient"], max_steps=60)
    with attach(trainer, tmp_path / "run") as probe:
        recorder = probe.recorder
        with pytest.raises(RuntimeError, match="probability tensor"):
            trainer.train()

    bad = [step for step, row in sorted(recorder.steps.items()) if row.get("grad_nonfinite_count", 0) > 0]
    assert bad == [40]
    assert recorder.steps[40]["grad_nonfinite_count"] == 1
    assert math.isfinite(recorder.steps[40]["loss"])
    assert math.isnan(recorder.steps[40]["grad_norm"])


def test_a_loss_that_is_no_number_is_kept_though_the_trainer_logs_another(sorter: Path, tmp_path: Path) -> None:
    trainer = build(sorter, tmp_path, max_steps=2)
    original = trainer._compute_loss
    trainer._compute_loss = lambda model, inputs: original(model, inputs) * math.nan
    with attach(trainer, tmp_path / "run") as probe:
        recorder = probe.recorder
        with pytest.raises(RuntimeError, match="probability tensor"):
            trainer.train()

    assert math.isnan(recorder.steps[1]["loss"])
    assert math.isfinite(trainer.state.log_history[0]["loss"])


def test_settings_are_known_by_their_canonical_names(sorter: Path, tmp_path: Path) -> None:
    recorder = recorded(build(sorter, tmp_path, max_steps=1), tmp_path)

    settings, configuration = recorder.facts["settings"], recorder.facts["config"]
    assert recorder.facts["algorithm"] == "grpo"
    assert settings["kl_coefficient"] == 0.02
    assert settings["group_size"] == 8
    assert settings["batch_prompts"] == 4
    assert settings["vocabulary_size"] == 48
    assert settings["clip_high"] == settings["clip_low"] == 0.2
    assert configuration["eos_token_ids"] == [2]
    assert configuration["reward_functions"] == ["correct", "shape"]
    assert configuration["arguments"]["max_completion_length"] == 12


def test_the_callback_records_what_is_logged_and_says_once_what_it_misses(
    sorter: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = build(sorter, tmp_path, max_steps=4, logging_steps=2)
    callback = RlprobeCallback(tmp_path / "run")
    trainer.add_callback(callback)
    kept: list[MemoryRecorder] = []
    original = callback.on_log
    callback.on_log = lambda *a, **k: (original(*a, **k), kept.append(callback._recorder))[0]
    with caplog.at_level("WARNING", logger="rlprobe"):
        trainer.train()

    recorder = kept[0]
    assert sorted(recorder.steps) == [2, 4]
    assert recorder.steps[2]["reward_mean"] == trainer.state.log_history[0]["reward"]
    assert recorder.facts["algorithm"] == "grpo"
    assert recorder.closed
    assert sum("attach(trainer, run_dir)" in message for message in caplog.messages) == 1
