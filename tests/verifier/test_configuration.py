"""Settings: impossible ones fail, risky ones warn, and no trainer's own defaults provoke a word."""

import dataclasses
import math
from argparse import Namespace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from rlprobe import verify
from rlprobe.verifier.measure.settings import FURTHER, NESTED, settings
from rlprobe.verifier.pipeline import Pipeline
from rlprobe.verifier.selftest.correct import config_verl
from rlprobe.verifier.selftest.measure import mutant_score
from rlprobe.verifier.selftest.mutants.configuration import MUTANTS
from rlprobe.verifier.subject import Subject
from tests.verifier import mutants


@pytest.mark.parametrize("mutant", mutants.cases(MUTANTS, few=10), ids=mutants.name)
def test_each_impossible_setting_is_found_in_its_stage(mutant):
    score = mutant_score(mutant)

    assert score.right_first, score


def _told(config, **further) -> dict[str, str]:
    report = verify(Pipeline(config=config, **further), only="configuration")
    return {result.id: result.status for result in report.results if result.status in ("fail", "warn")}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"learning_rate": 5e-5}, "V701"),
        ({"learning_rate": 3e-4, "lora": True}, "V701"),
        ({"beta": 0.3}, "V702"),
        ({"beta": 2.0, "algorithm": "dpo"}, "V702"),
        ({"epsilon": 0.001}, "V703"),
        ({"epsilon": 0.2, "importance_sampling_level": "sequence"}, "V703"),
        ({"epsilon_low": 0.28, "epsilon_high": 0.2}, "V703"),
        ({"num_generations": 2, "algorithm": "grpo"}, "V704"),
        ({"num_generations": 8, "per_device_train_batch_size": 12}, "V705"),
        ({"adv_eps": 0.05}, "V706"),
        ({"adv_eps": 0.0}, "V706"),
        ({"temperature": 1.8}, "V707"),
        ({"top_p": 0.5}, "V707"),
        ({"top_k": 20}, "V707"),
        ({"fp16": True}, "V709"),
        ({"steps_per_generation": 3, "gradient_accumulation_steps": 4}, "V710"),
        ({"num_iterations": 16}, "V710"),
        ({"attention_dropout": 0.1}, "V711"),
        ({"loss_type": "dr_grpo", "scale_rewards": "group"}, "V714"),
        ({"warmup_ratio": 0.7}, "V715"),
        ({"max_grad_norm": 1e-6}, "V716"),
        ({"gamma": 0.5}, "V718"),
        ({"sync_ref_model": True, "beta": 0.0}, "V719"),
        ({"learning_raet": 1e-6}, "V721"),
        ({"entropy_coef": -0.01}, "V723"),
        ({"reward_weights": [1.0, 0.0]}, "V724"),
    ],
)
def test_a_risky_setting_warns_and_only_that(config, expected):
    assert _told(config) == {expected: "warn"}


def test_the_defaults_of_verl_as_ppo_and_as_nested_yaml_are_quiet():
    config = {**config_verl.CONFIG, "algorithm": {"adv_estimator": "gae", "gamma": 1.0, "lam": 1.0}}
    config["actor_rollout_ref"] = {
        **config["actor_rollout_ref"],
        "rollout": {"n": 1, "temperature": 1.0, "top_k": -1, "top_p": 1},
    }

    assert _told(config) == {}


@pytest.mark.trl
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("kind", ["GRPOConfig", "RLOOConfig", "DPOConfig"])
def test_the_defaults_of_trl_are_quiet(kind, tmp_path):
    trl = pytest.importorskip("trl")

    given_settings = getattr(trl, kind)(output_dir=str(tmp_path), use_cpu=True, bf16=False)

    assert _told(given_settings) == {}


def test_nested_settings_are_read_from_the_policy_and_not_from_the_critic_or_the_validation():
    found = settings(Subject(Pipeline(config=config_verl.CONFIG)))

    assert found.number("learning_rate") == 1e-6
    assert found.number("value_learning_rate") == 1e-5
    assert found.number("temperature") == 1.0
    assert found.number("group_size") == 5
    assert found.named("group_size") == "actor_rollout_ref.rollout.n"
    assert found.grouped


def test_a_coefficient_that_its_switch_turns_off_is_not_in_force():
    actor = {**config_verl.CONFIG["actor_rollout_ref"]["actor"], "use_kl_loss": False, "kl_loss_coef": 5.0}

    assert settings(Subject(Pipeline(config={"actor": actor}))).number("kl_coefficient") is None


def test_pairs_classes_and_declarations_are_read_like_flat_names():
    @dataclasses.dataclass
    class RLOOConfig:
        epsilon: float = 0.2

    pair = settings(Subject(Pipeline(config=Namespace(eps_clip_low_high=[0.2, 0.27]))))
    declared = settings(Subject(Pipeline(config={"epsilon": 0.1}, declare={"clip": 0.3})))

    assert (pair.number("clip_low"), pair.number("clip_high")) == (0.2, 0.27)
    assert settings(Subject(Pipeline(config=RLOOConfig()))).algorithm == "rloo"
    assert declared.number("clip") == 0.3


def test_a_gold_completion_over_the_cap_is_told_with_its_length():
    class Letters:
        eos_token_id, pad_token_id = 1, 0

        def encode(self, text, add_special_tokens=False):
            return [2 + ord(letter) for letter in text]

        def decode(self, ids, skip_special_tokens=False):
            return "".join(chr(one - 2) for one in ids if one > 1)

    rows = [{"prompt": "p", "completion": "short"}, {"prompt": "q", "completion": "x" * 40}]
    config = {"max_completion_length": 20}

    assert _told(config, tokenizer=Letters(), dataset=rows) == {"V708": "warn"}
    assert _told(config, tokenizer=Letters(), dataset=rows[1:]) == {"V708": "fail"}
    assert _told({"max_completion_length": 64}, tokenizer=Letters(), dataset=rows) == {}


@given(
    some.dictionaries(
        some.sampled_from([*FURTHER, *NESTED, "learning_rate", "beta", "epsilon", "num_generations", "scale_rewards"]),
        some.one_of(
            some.floats(),
            some.integers(),
            some.text(max_size=8),
            some.none(),
            some.booleans(),
            some.lists(some.integers()),
        ),
        max_size=8,
    )
)
def test_no_value_of_any_setting_breaks_a_check(config):
    report = verify(Pipeline(config=config), only="configuration")

    assert not [one.outcome.statement for one in report.results if "the check itself failed" in one.outcome.statement]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_finite_number_is_never_in_range(value):
    assert _told({"learning_rate": value}) == {"V701": "fail"}
    counts = ("max_completion_length", "num_generations", "num_iterations")
    assert [list(_told({name: value}).values()) for name in counts] == [["fail"]] * 3


@pytest.mark.trl
@pytest.mark.filterwarnings("default")
def test_the_rate_of_the_optimizer_is_held_against_the_setting_before_its_schedule():
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.0)

    quiet = verify(Pipeline(model=model, optimizer=optimizer, config={"learning_rate": 1e-6}), only="V717")
    told = verify(Pipeline(model=model, optimizer=optimizer, config={"learning_rate": 5e-6}), only="V717")

    assert [one.status for one in quiet.results] == ["pass"]
    assert told.failures[0].outcome.fingerprint == "the setting is ignored"
