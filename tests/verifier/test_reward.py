"""Reward checks: the bugs that they are there for, the conventions that they must bear, real reward functions."""

import math
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from rlprobe import verify
from rlprobe.verifier.measure.columns import INVENTED, answer_columns
from rlprobe.verifier.measure.forms import USUAL, example_of, forms
from rlprobe.verifier.measure.gold import golds
from rlprobe.verifier.measure.reading import keyword_access, read, uses_parameter
from rlprobe.verifier.pipeline import Pipeline
from rlprobe.verifier.rewarding import Sample, conventions, rewards
from rlprobe.verifier.selftest.measure import mutant_score
from rlprobe.verifier.selftest.mutants.reward import MUTANTS
from rlprobe.verifier.subject import Subject
from tests.verifier import mutants


@pytest.mark.parametrize("mutant", mutants.cases(MUTANTS, few=12), ids=mutants.name)
def test_each_bug_of_a_reward_is_found_in_its_stage(mutant):
    score = mutant_score(mutant)

    assert score.right_first, score


def _failing(**slots) -> list[str]:
    return [result.id for result in verify(Pipeline(**slots), only="reward").failures]


def _status(identity: str, **slots) -> str:
    (result,) = verify(Pipeline(**slots), only=identity).results
    return result.status


# What people hand over and must hear nothing bad about.
def _exact(completions, answer, **kwargs):
    return [float(completion == truth) for completion, truth in zip(completions, answer, strict=True)]


def _contains(completions, answer, **kwargs):
    return [float(truth in completion) for completion, truth in zip(completions, answer, strict=True)]


def _length(completions, **kwargs):
    return [-abs(20 - len(completion)) for completion in completions]


def _letters(completions, **kwargs):
    return np.array([len(set(completion)) for completion in completions], dtype=np.float32)


def _equation(completions, target, nums, **kwargs):
    scores = []
    for completion, wanted, numbers in zip(completions, target, nums, strict=True):
        found = re.search(r"<answer>(.*?)</answer>", completion, re.DOTALL)
        used = [int(one) for one in re.findall(r"\d+", found.group(1))] if found else []
        scores.append(float(bool(used) and sorted(used) == sorted(numbers) and sum(used) == wanted))
    return scores


def _abstains(completions, task, **kwargs):
    return [float("42" in text) if kind == "math" else None for text, kind in zip(completions, task, strict=True)]


def _queries(queries, prompts, labels):
    return np.array([float(query.endswith(label)) for query, label in zip(queries, labels, strict=True)])


def _sorted_digits(completions, prompts, **kwargs):
    wanted = ["".join(sorted(letter for letter in prompt if letter.isdigit())) for prompt in prompts]
    return [float(text.strip() == right) for text, right in zip(completions, wanted, strict=True)]


def _sentiment(completions, label, **kwargs):
    return [float(("good" in text) == bool(one)) for text, one in zip(completions, label, strict=True)]


@pytest.mark.parametrize(
    ("reward", "rows"),
    [
        (_exact, None),
        (_contains, None),
        (_length, None),
        (_letters, None),
        (_equation, [{"prompt": "p", "target": 7, "nums": [3, 4], "completion": "<answer>3 + 4</answer>"}]),
        (_equation, [{"prompt": "p", "target": 7, "nums": [3, 4]}]),
        (_abstains, [{"prompt": "p", "task": "math"}, {"prompt": "q", "task": "code"}]),
        (_queries, None),
        (_sorted_digits, [{"prompt": "sort:4213=", "completion": "1234"}, {"prompt": "sort:98=", "completion": "89"}]),
        (_sentiment, [{"prompt": "p", "label": 1}, {"prompt": "q", "label": 0}]),
    ],
)
def test_a_correct_reward_of_any_convention_has_no_failing_check(reward, rows):
    assert _failing(reward=reward, dataset=rows) == []


def test_rewards_of_messages_texts_lists_and_arrays_are_called_as_they_want_it():
    def of_messages(completions, **kwargs):
        return [float(len(completion[0]["content"])) for completion in completions]

    def of_one(completion: str) -> float:
        return float(len(completion))

    async def awaited(completions, **kwargs):
        return [len(completion) for completion in completions]

    subject = Subject(Pipeline(reward=[of_messages, of_one, awaited]))
    found = golds(subject)
    samples = [Sample(completion="abc"), Sample(completion="")]

    assert [(one.reward.layout, one.reward.chat) for one in found] == [
        ("batch", True),
        ("single", False),
        ("batch", False),
    ]
    assert [one.reward(samples) for one in found] == [[3.0, 0.0]] * 3


@pytest.mark.parametrize("result", ["text", [1.0], [1.0, "a"], [[1.0], [2.0]], 3.0, {"other": [1, 2]}, None])
def test_what_is_not_one_number_a_row_is_told_and_never_raises(result):
    def reward(completions, **kwargs):
        return result

    (first, *_) = verify(Pipeline(reward=reward), only="V101").results

    assert first.status == "fail"
    assert "no exception, but" in first.outcome.statement


def test_an_exception_on_an_empty_completion_is_shown_with_it():
    def reward(completions, **kwargs):
        return [float(completion.split()[-1] == "42") for completion in completions]

    (result,) = verify(Pipeline(reward=reward), only="V105").results

    assert result.status == "fail"
    assert result.outcome.example["completions"] == [""]
    assert "IndexError" in result.outcome.got
    assert "test_reward.py" in result.where


def test_the_users_rows_are_never_changed():
    rows = [{"prompt": "p", "tests": [[1], [2]], "completion": "x"}, {"prompt": "q", "tests": [[3]], "completion": "y"}]

    def reward(completions, tests, **kwargs):
        return [float(len(one.pop()) if one else 0) + len(text) for one, text in zip(tests, completions, strict=True)]

    assert _status("V111", reward=reward, dataset=rows) == "fail"
    assert rows[0]["tests"] == [[1], [2]]


def test_a_column_that_is_missing_is_named_with_the_one_that_is_meant():
    def reward(completions, **kwargs):
        return [float(text == truth) for text, truth in zip(completions, kwargs["anwser"], strict=True)]

    (result,) = verify(Pipeline(reward=reward, dataset=[{"prompt": "p", "answer": "4"}]), only="V110").results

    assert result.status == "fail"
    assert result.outcome.fingerprint == "misspelt answer"


def test_columns_that_nobody_handed_over_leave_a_reward_not_checkable():
    def reward(completions, board, **kwargs):
        return [float(board[index].score(text)) for index, text in enumerate(completions)]

    assert _status("V101", reward=reward) == "not_checkable"


def test_the_answer_that_counts_is_measured():
    def first(completions, answer, **kwargs):
        found = [re.search(r"\\boxed\{(.*?)\}", text) for text in completions]
        return [float(bool(one) and one.group(1) == truth) for one, truth in zip(found, answer, strict=True)]

    assert verify(Pipeline(reward=first), only="V120").measured["answer that counts (first)"] == "first"


@given(some.sampled_from(["boxed", "####", "FINAL", "<answer>", "Answer:", "=>"]), some.sampled_from([" ", "", "\\s*"]))
def test_the_text_that_is_made_for_a_pattern_matches_it(marker, gap):
    pattern = f"{re.escape(marker)}{gap}(.+?)$"

    example = example_of(pattern)

    assert example is not None
    assert re.search(pattern, example.replace("@A", "42").replace("@R", "So."), re.DOTALL)


@example("[[")
@example("a{1}{2}")
@given(some.text(max_size=40))
def test_no_string_of_a_function_breaks_the_search_for_patterns(text):
    example = example_of(text)

    assert example is None or isinstance(example, str)


def test_every_usual_form_states_its_answer():
    for form in USUAL:
        assert "4711" in form("4711"), form.name
        assert form.alone == ("parts" not in form("4711"))


def test_strings_of_helpers_patterns_and_partials_are_read_without_running_anything():
    import functools

    pattern = re.compile(r"FINAL:\s*(\d+)")

    def helper(text):
        return pattern.search(text)

    def reward(completions, tag, **kwargs):
        return [float(bool(helper(text))) for text in completions if tag and kwargs["row"] and kwargs.get("level")]

    bound = functools.partial(reward, tag="solution")

    assert r"FINAL:\s*(\d+)" in read(bound).strings
    assert "solution" in read(bound).strings
    assert keyword_access(reward) == (("row", True), ("level", False))
    assert uses_parameter(reward, "tag")
    assert not uses_parameter(lambda completions, answer: [0.0 for _ in completions], "answer")
    for used in (  # however an interpreter joins instructions
        lambda completions, answer: [text == answer for text in completions],
        lambda completions, answer: [float(answer in text) for text in completions if text],
        lambda completions, answer: (completions, answer),
        lambda completions, answer: [(lambda: answer)() for _ in completions],
    ):
        assert uses_parameter(used, "answer")
    assert len({form("1") for form in forms(read(bound))}) == len(forms(read(bound)))


@pytest.mark.parametrize(
    "value",
    ["72", 72, 72.0, ["72"], "He has 72.\n#### 72", "It is $\\boxed{72}$.", {"ground_truth": "72", "style": "rule"}],
)
def test_an_answer_is_written_as_the_column_writes_it(value):
    def reward(completions, answer, **kwargs):
        return [float(bool(one)) for one in answer]

    (subject_reward,) = rewards(Subject(Pipeline(reward=reward)))
    rows = [{"prompt": "p", "answer": value}]
    (column,) = answer_columns(subject_reward, rows)
    (again,) = answer_columns(subject_reward, [{"prompt": "p", "answer": column.write("15")}])

    assert column.pairs[0][0] == "72"
    assert type(column.write("15")) is type(value)
    assert again.pairs[0][0] == "15"


@given(some.sampled_from(INVENTED))
def test_invented_answers_differ(pair):
    assert pair[0] != pair[1]


def test_conventions_begin_with_the_one_that_the_name_of_the_parameter_says():
    def single(completion):
        return 0.0

    def batch(completions):
        return [0.0 for _ in completions]

    layouts = [conventions(one)[0].layout for one in rewards(Subject(Pipeline(reward=[single, batch])))]

    assert layouts == ["single", "batch"]


def test_a_score_that_is_not_a_number_fails_and_one_that_abstains_does_not():
    def broken(completions, **kwargs):
        return [math.nan if not text else float(len(text)) for text in completions]

    def abstaining(completions, **kwargs):
        return [None if not text else float(len(text)) for text in completions]

    assert _status("V105", reward=broken) == "fail"
    assert _status("V105", reward=abstaining) == "pass"


@pytest.mark.trl
@pytest.mark.filterwarnings("default")
def test_trls_own_rewards_have_no_failing_check():
    trl_rewards = pytest.importorskip("trl.rewards")

    functions = [trl_rewards.think_format_reward, trl_rewards.get_soft_overlong_punishment(500, 100)]

    assert _failing(reward=functions, config={"reward_weights": [1.0, 0.5]}) == []
