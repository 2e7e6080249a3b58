"""What reward functions were handed and said: texts, numbers, None and NaN, several functions, messages."""

import asyncio
import math
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("trl")
from datasets import Dataset

from tests.integrations.memory_recorder import recorded
from tests.integrations.tiny_model import questions
from tests.integrations.trl_lab import Case, blank_texts, build, flip_advantages, shape

pytestmark = [
    pytest.mark.trl,
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),
    pytest.mark.usefixtures("strict", "memory"),
]


def test_the_text_that_a_reward_function_received_is_compared_with_what_was_generated(
    sorter: Path, tmp_path: Path
) -> None:
    recorder = recorded(build(sorter, tmp_path, max_steps=2), tmp_path)
    blanked = recorded(build(sorter, tmp_path, Case(sabotage=blank_texts), max_steps=2), tmp_path)

    assert recorder.steps[1]["reward_text_mismatch_fraction"] == 0
    assert all(row["reward_text/correct"] is None for row in recorder.rows())
    assert blanked.steps[1]["reward_text_mismatch_fraction"] == 1
    assert all(row["reward_text/correct"] == "" and row["completion"] for row in blanked.rows())


def test_an_advantage_of_the_wrong_sign_is_told_from_the_reward(sorter: Path, tmp_path: Path) -> None:
    recorder = recorded(build(sorter, tmp_path, Case(sabotage=flip_advantages), max_steps=2), tmp_path)

    assert recorder.steps[1]["advantage_reward_disagreement_fraction"] == 1
    assert all(row["advantage"] == pytest.approx(-row["advantage_logged"]) for row in recorder.rows())


def sometimes_none(prompts: list[str], **_: object) -> list[float | None]:
    return [None if int(prompt[5]) % 2 else 1.0 for prompt in prompts]


def always_none(prompts: list[str], **_: object) -> list[None]:
    return [None for _ in prompts]


def sometimes_nan(completion_ids: list[list[int]], **_: object) -> list[float]:
    return [math.nan if len(ids) < 7 else 1.0 for ids in completion_ids]


def test_a_reward_that_says_nothing_differs_from_one_that_is_no_number(sorter: Path, tmp_path: Path) -> None:
    case = Case(rewards=(shape, sometimes_none, always_none, sometimes_nan))
    recorder = recorded(build(sorter, tmp_path, case, max_steps=1), tmp_path)

    assert "reward_component_mean/always_none" not in recorder.steps[1]
    assert recorder.steps[1]["reward_component_mean/sometimes_none"] == 1
    for row in recorder.rows():
        odd = int(str(row["prompt"])[5]) % 2
        assert row["reward/always_none"] is None
        assert (row["reward/sometimes_none"] is None) == bool(odd)
        assert math.isnan(row["reward/sometimes_nan"]) == (row["completion_tokens"] < 7)
        assert math.isnan(row["reward"]) == (row["completion_tokens"] < 7)


def test_rows_that_no_function_scores_have_no_reward(sorter: Path, tmp_path: Path) -> None:
    recorder = recorded(build(sorter, tmp_path, Case(rewards=(always_none,)), max_steps=1), tmp_path)

    assert all(row["reward"] is None for row in recorder.rows())
    assert math.isnan(recorder.steps[1]["reward_mean"])


async def slowly(completions: list[str], **_: object) -> list[float]:
    await asyncio.sleep(0)
    return [float(len(text)) for text in completions]


class Judge:
    """A callable object, as judges with a state are."""

    __name__ = "judge"

    def __call__(self, completions: list[str], log_extra: object, log_metric: object, **_: object) -> list[float]:
        log_extra("verdict", ["fine" for _ in completions])
        log_metric("judged", float(len(completions)))
        return [0.5 for _ in completions]


def test_asynchronous_functions_and_callable_objects_are_watched_too(sorter: Path, tmp_path: Path) -> None:
    recorder = recorded(build(sorter, tmp_path, Case(rewards=(slowly, Judge())), max_steps=1), tmp_path)

    assert recorder.steps[1]["judged"] == 32
    assert recorder.steps[1]["reward_function_seconds/slowly"] >= 0
    for row in recorder.rows():
        assert row["reward/slowly"] == len(str(row["completion"]))
        assert row["reward_text/slowly"] is None
        assert row["extra/verdict"] == "fine"


def test_two_functions_of_one_name_are_two_parts_of_the_reward(sorter: Path, tmp_path: Path) -> None:
    both = tuple(partial(constant_of, value) for value in (1.0, 2.0))
    recorder = recorded(build(sorter, tmp_path, Case(rewards=both), max_steps=1), tmp_path)

    for row in recorder.rows():
        assert (row["reward/constant_of"], row["reward/constant_of#2"], row["reward"]) == (1.0, 2.0, 3.0)


def constant_of(value: float, completions: list[str], **_: object) -> list[float]:
    return [value for _ in completions]


def of_messages(completions: list[list[dict[str, str]]], **_: object) -> list[float]:
    return [float(len(each[0]["content"]) == 6) for each in completions]


def test_conversational_data_is_kept_as_messages_and_as_text(sorter: Path, tmp_path: Path) -> None:
    chats = [[{"role": "user", "content": text}] for text in questions(64, 5)]
    case = Case(rewards=(of_messages,))
    trainer = build(sorter, tmp_path, case, max_steps=2, train_dataset=Dataset.from_dict({"prompt": chats}))
    recorder = recorded(trainer, tmp_path)

    assert recorder.steps[2]["reward_text_mismatch_fraction"] == 0
    for row in recorder.rows():
        assert str(row["prompt"]).startswith("sort:")
        assert '"role": "user"' in str(row["prompt_messages"])
        assert str(row["completion"]) in str(row["completion_messages"])
