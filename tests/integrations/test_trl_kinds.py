"""Every kind of trainer: what is recorded is what it logged and did, and training is the same with and without."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("trl")
import numpy as np
import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import Trainer

from rlprobe.integrations.trl import attach
from rlprobe.integrations.trl_online import OnlineWatch
from rlprobe.integrations.trl_pairs import PairWatch
from rlprobe.integrations.trl_watch import Watch
from tests.integrations.agreement import differences, outcome, same
from tests.integrations.memory_recorder import MemoryRecorder
from tests.integrations.tiny_model import answer_of, questions
from tests.integrations.trl_kinds_lab import KINDS, dpo, kto, online_dpo, pairs, wrong_answer
from tests.integrations.trl_lab import BASE, correct, shape

pytestmark = [pytest.mark.trl, pytest.mark.slow, pytest.mark.filterwarnings("default")]

Kind = tuple[Trainer, MemoryRecorder]
SETTINGS = {"dpo": {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2}}


@pytest.fixture(scope="module")
def kinds(sorter: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Kind]:
    """Each kind trained without a recorder and with one: both come out alike, and the second serves all tests."""
    made: dict[str, Kind] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RLPROBE_STRICT_HOOKS", "1")
        patch.setattr("rlprobe.integrations.trl_callback.Recorder", MemoryRecorder)
        for name, make in KINDS.items():
            folder = tmp_path_factory.mktemp(name)
            settings = SETTINGS.get(name, {})
            bare = outcome(make(sorter, folder / "bare", **settings))
            trainer = make(sorter, folder / "watched", **settings)
            with attach(trainer, folder / "run", capture="all") as probe:
                recorder = probe.recorder
                assert same(outcome(trainer), bare), name
            assert isinstance(recorder, MemoryRecorder)
            made[name] = (trainer, recorder)
    return made


@pytest.mark.parametrize("name", KINDS)
def test_what_the_trainer_logs_is_recorded_as_it_is_and_training_is_the_same(kinds: dict[str, Kind], name: str) -> None:
    trainer, recorder = kinds[name]

    assert differences(recorder.steps, trainer.state.log_history, str(recorder.facts["algorithm"])) == []
    assert sorted(recorder.steps) == [1, 2, 3]
    assert "bad_hook" not in recorder.kinds()
    for row in recorder.steps.values():
        assert math.isfinite(row["loss"])
        assert row["weight_update_ratio"] > 0
        assert row["grad_nonfinite_count"] == 0


def test_pairs_of_dpo_are_kept_with_what_both_models_say_of_them(kinds: dict[str, Kind]) -> None:
    trainer, recorder = kinds["dpo"]
    rows = recorder.rows()

    assert len(rows) == 3 * 16
    assert sorted(row["sample"] for row in rows if row["step"] == 2) == list(range(16))
    for row in rows:
        right = answer_of(str(row["prompt"]))
        assert row["completion"] == (right if row["preference"] == "chosen" else wrong_answer(str(row["prompt"])))
        assert len(row["token_logprobs"]) == row["completion_tokens"] == len(row["token_ids"])
        assert row["logprob"] == pytest.approx(float(row["token_logprobs"].astype("f8").mean()), abs=1e-2)
    for step in (1, 2, 3):
        here = [row for row in rows if row["step"] == step]
        assert all(
            len({row["prompt"] for row in here if row["group"] == group}) == 1 for group in {r["group"] for r in here}
        )
        for side in ("chosen", "rejected"):
            rewards = [row["implicit_reward"] for row in here if row["preference"] == side]
            totals = [row["logprob"] * row["completion_tokens"] for row in here if row["preference"] == side]
            assert np.mean(rewards) == pytest.approx(recorder.steps[step][f"{side}_reward_mean"], abs=1e-4)
            assert np.mean(totals) == pytest.approx(recorder.steps[step][f"{side}_logprob_mean"], abs=1e-4)
    assert recorder.steps[3]["preference_margin_mean"] > recorder.steps[1]["preference_margin_mean"] == 0
    assert recorder.facts["settings"]["kl_coefficient"] == trainer.beta


def test_single_answers_of_kto_are_kept_with_their_label(kinds: dict[str, Kind]) -> None:
    _, recorder = kinds["kto"]

    for step in (1, 2, 3):
        here = [row for row in recorder.rows() if row["step"] == step]
        assert all("group" not in row for row in here)
        for side in ("chosen", "rejected"):
            mine = [row["implicit_reward"] for row in here if row["preference"] == side]
            if mine:
                assert np.mean(mine) == pytest.approx(recorder.steps[step][f"{side}_reward_mean"], abs=1e-4)
    assert "kl_mean" not in recorder.steps[1]
    assert recorder.steps[1]["trl/kl"] >= 0


def test_both_completions_of_online_dpo_are_kept_with_their_rewards(kinds: dict[str, Kind]) -> None:
    trainer, recorder = kinds["online_dpo"]

    for row in recorder.rows():
        assert row["reward/correct"] == float(row["completion"] == answer_of(str(row["prompt"])))
        assert row["reward"] == pytest.approx(row["reward/correct"] + row["reward/shape"])
        assert row["completion"] == trainer.processing_class.decode(row["token_ids"], skip_special_tokens=True)
        assert row["reward_text/correct"] is None
        assert row["kl"] == pytest.approx(row["logprob"] - row["reference_logprob"], abs=1e-6)
    for step in (1, 2, 3):
        here = [row for row in recorder.rows() if row["step"] == step]
        groups = {row["group"]: [] for row in here}
        for row in here:
            groups[row["group"]].append(row)
        for first, second in groups.values():
            assert {first["preference"], second["preference"]} == {"chosen", "rejected"}
            better = first if first["preference"] == "chosen" else second
            assert better["reward"] == max(first["reward"], second["reward"])
        tokens = [row["completion_tokens"] for row in here]
        assert recorder.steps[step]["kl_mean"] == pytest.approx(
            np.average([r["kl"] for r in here], weights=tokens), abs=1e-6
        )


def test_a_subclass_of_grpo_has_its_own_clip_range_and_its_terms_add_up(kinds: dict[str, Kind]) -> None:
    trainer, recorder = kinds["gmpo"]
    step = recorder.steps[2]

    assert recorder.facts["algorithm"] == "grpo"
    rows = [row for row in recorder.rows() if row["step"] == 1]
    assert step["kl_loss"] == pytest.approx(
        trainer.beta * step["kl_mean"], rel=0.2
    )  # a mean of means against one of tokens
    assert step["policy_loss"] + step["kl_loss"] == pytest.approx(step["loss"])
    assert step["clip_fraction"] > 0
    assert len(rows) == 32


def test_a_loss_of_the_users_own_is_not_taken_for_trls(
    sorter: Path, tmp_path: Path, memory: type[MemoryRecorder]
) -> None:
    from trl import GRPOConfig, GRPOTrainer

    class Doubled(GRPOTrainer):
        def _compute_loss(self, model: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
            return 2 * super()._compute_loss(model, inputs)

    from transformers import AutoModelForCausalLM, AutoTokenizer

    trainer = Doubled(
        model=AutoModelForCausalLM.from_pretrained(sorter),
        args=GRPOConfig(output_dir=str(tmp_path), seed=1, **{**BASE, "max_steps": 1, "num_iterations": 2, "beta": 0.5}),
        reward_funcs=[correct, shape],
        processing_class=AutoTokenizer.from_pretrained(sorter),
        train_dataset=Dataset.from_dict({"prompt": questions(64, 3)}),
    )
    with attach(trainer, tmp_path / "run") as probe:
        recorder = probe.recorder
        trainer.train()

    assert "loss" in recorder.steps[1]
    assert not {"policy_loss", "kl_loss"} & set(recorder.steps[1])
    assert recorder.steps[1]["kl_mean"] == pytest.approx(0, abs=1e-6)


def test_adapters_of_dpo_have_the_base_weights_as_reference(
    sorter: Path, tmp_path: Path, memory: type[MemoryRecorder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLPROBE_STRICT_HOOKS", "1")
    lora = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    trainer = dpo(sorter, tmp_path, peft_config=lora, learning_rate=1e-2, train_dataset=pairs(chat=True))
    with attach(trainer, tmp_path / "run", capture="all") as probe:
        recorder = probe.recorder
        trainer.train()

    assert recorder.facts["config"]["reference"] == "adapter off"
    assert recorder.steps[3]["reference_drift"] == 0
    assert differences(recorder.steps, trainer.state.log_history, "dpo") == []
    for step in (1, 3):
        here = [row for row in recorder.rows() if row["step"] == step and row["preference"] == "chosen"]
        assert np.mean([r["implicit_reward"] for r in here]) == pytest.approx(
            recorder.steps[step]["chosen_reward_mean"], abs=1e-4
        )


def test_evaluations_of_dpo_are_scores_and_no_training_samples(
    sorter: Path, tmp_path: Path, memory: type[MemoryRecorder]
) -> None:
    settings = {
        "eval_strategy": "steps",
        "eval_steps": 2,
        "eval_dataset": pairs(seed=9),
        "precompute_ref_log_probs": True,
    }
    trainer = dpo(sorter, tmp_path, max_steps=2, **settings)
    with attach(trainer, tmp_path / "run", capture="all") as probe:
        recorder = probe.recorder
        trainer.train()

    assert recorder.steps[2]["evaluation_score/preference_accuracy"] > 0
    assert "evaluation_score/preference_accuracy" not in recorder.steps[1]
    assert len(recorder.rows()) == 2 * 16
    here = [row["implicit_reward"] for row in recorder.rows() if row["step"] == 2 and row["preference"] == "rejected"]
    assert np.mean(here) == pytest.approx(recorder.steps[2]["rejected_reward_mean"], abs=1e-4)


HOOKS = {
    dpo: (PairWatch, ("loss_begins", "forwarded", "loss_computed", "samples", "clipped")),
    online_dpo: (OnlineWatch, ("turn_begins", "generated", "forwarded", "rewards_begin", "rewarded", "metrics")),
    kto: (Watch, ("micro_batch_done", "gradients", "table")),
}


@pytest.mark.parametrize("make", HOOKS)
def test_failures_in_all_hooks_are_recorded_once_each_and_training_goes_on(
    sorter: Path,
    tmp_path: Path,
    memory: type[MemoryRecorder],
    monkeypatch: pytest.MonkeyPatch,
    kinds: dict[str, Kind],
    make: Callable[..., Trainer],
) -> None:
    def fails(*_: object, **__: object) -> object:
        raise ZeroDivisionError("injected")

    owner, hooks = HOOKS[make]
    for hook in hooks:
        monkeypatch.setattr(owner, hook, fails)
    trainer = make(sorter, tmp_path, **SETTINGS.get(make.__name__, {}))
    with attach(trainer, tmp_path / "run") as probe:
        recorder = probe.recorder
        logs, weights = outcome(trainer)

    watched = kinds[make.__name__][0]
    assert all(torch.equal(value, weights[name]) for name, value in watched.model.state_dict().items())
    failures = [fields["hook"] for kind, _, fields in recorder.events if kind == "bad_hook"]
    assert len(failures) >= len(hooks)
    assert len(failures) == len(set(failures))
    assert logs[-1]["step"] == 3
