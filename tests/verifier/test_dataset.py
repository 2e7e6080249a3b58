"""Data sets as people hold them: what is checked does not depend on what holds the rows."""

import re

import pytest

from rlprobe import Pipeline, verify

ROWS = [{"prompt": f"What is {number} + 1?", "answer": str(number + 1)} for number in range(40)]


def exact(completions, answer):
    return [float(text.strip() == right) for text, right in zip(completions, answer, strict=True)]


class Indexed:
    """As torch's map-style data sets are."""

    def __len__(self):
        return len(ROWS)

    def __getitem__(self, index):
        return ROWS[index]


def told(dataset):
    report = verify(Pipeline(reward=exact, dataset=dataset), only="V101,V105,V106")
    return [(one.id, one.status, one.outcome.statement) for one in report.results]


def test_rows_of_a_dataset_or_a_table_are_those_of_a_list():
    datasets = pytest.importorskip("datasets")
    table = datasets.Dataset.from_list(ROWS)

    assert {status for _, status, _ in told(ROWS)} == {"pass"}
    assert told(table) == told(table.to_pandas()) == told(Indexed()) == told(ROWS)


@pytest.mark.parametrize(
    ("dataset", "got"),
    [
        (iter(ROWS), "list_iterator"),
        ({"prompt": ["a"], "answer": ["b"]}, "dict"),
        (["What is 1 + 1?"], "list of str"),
        ("train.jsonl", "str"),
    ],
)
def test_what_holds_no_rows_is_named_with_what_to_hand_over(dataset, got):
    line = f"dataset: expected rows as mappings, got {got}. Hand over a list of dicts."

    with pytest.raises(TypeError, match=re.escape(line)):
        verify(Pipeline(reward=exact, dataset=dataset))
