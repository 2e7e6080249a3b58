import math
import re

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rlprobe.forensics.evaluation import holds, levels
from rlprobe.forensics.expression import parse
from rlprobe.forensics.measures import Vocabulary
from rlprobe.forensics.syntax import FUNCTIONS
from rlprobe.forensics.tokens import LONGEST, ExpressionError, pointed
from rlprobe.recording.run import Samples
from rlprobe.recording.sample_blocks import held_block
from tests.reference.expressions import value_of

KINDS = {"reward": "number", "kl": "number", "right": "condition", "completion": "text", "stop": "text"}
WORDS = Vocabulary(kinds=KINDS)
TEXTS = ("eos", "length", "Hello", "hello world", "", "a'b\"c", "ünï", "1.5")

numbers = st.one_of(st.none(), st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0, 1e300, math.nan, math.inf, -math.inf]))
texts = st.one_of(st.none(), st.sampled_from(TEXTS))
rows = st.lists(
    st.fixed_dictionaries(
        {
            "reward": numbers,
            "kl": numbers,
            "right": st.one_of(st.none(), st.booleans()),
            "completion": texts,
            "stop": texts,
        }
    ),
    min_size=1,
    max_size=6,
)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


text_literals = st.sampled_from(TEXTS).map(quoted)
text_columns = st.sampled_from(["completion", "stop", "lower(completion)"])
number_parts = st.recursive(
    st.sampled_from(["reward", "kl", "0", "1", "0.5", "2.5e-1", "length(stop)"]),
    lambda part: st.one_of(
        st.tuples(part, st.sampled_from("+-*/%"), part).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        part.map(lambda inner: f"-{inner}"),
        part.map(lambda inner: f"abs({inner})"),
    ),
    max_leaves=5,
)
comparisons = st.one_of(
    st.sampled_from(["right", "true", "false", "missing(reward)", "missing(stop)", "nan(kl)"]),
    st.tuples(number_parts, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), number_parts).map(" ".join),
    st.tuples(number_parts, number_parts, number_parts).map(lambda p: f"{p[0]} < {p[1]} <= {p[2]}"),
    st.tuples(text_columns, st.sampled_from(["==", "!="]), text_literals).map(" ".join),
    st.tuples(text_literals, text_columns).map(lambda p: f"{p[0]} in {p[1]}"),
    st.tuples(text_columns, text_literals, text_literals).map(lambda p: f"{p[0]} in ({p[1]}, {p[2]})"),
    st.tuples(number_parts, number_parts, number_parts).map(lambda p: f"{p[0]} not in [{p[1]}, {p[2]}]"),
)
conditions = st.recursive(
    comparisons,
    lambda part: st.one_of(
        st.tuples(part, st.sampled_from(["and", "or"]), part).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        part.map(lambda inner: f"not {inner}"),
    ),
    max_leaves=6,
)


def table(samples: list[dict[str, object]]) -> pa.Table:
    columns = {name: [row[name] for row in samples] for name in KINDS}
    kinds = {"number": pa.float64(), "condition": pa.bool_(), "text": pa.string()}
    return pa.table({name: pa.array(values, kinds[KINDS[name]]) for name, values in columns.items()})


@settings(max_examples=120, deadline=None)
@given(text=conditions, samples=rows)
@example(text="not (reward > 0.5)", samples=[dict.fromkeys(KINDS), {**dict.fromkeys(KINDS), "reward": math.nan}])
def test_columns_and_rows_agree_on_every_condition(text, samples):
    expression = parse(text, KINDS)

    found = holds(expression, table(samples), WORDS).tolist()

    assert found == [value_of(expression.root, row) is True for row in samples]


@settings(max_examples=60, deadline=None)
@given(text=number_parts, samples=rows)
def test_columns_and_rows_agree_on_every_number(text, samples):
    expression = parse(text, KINDS)

    found = levels(expression, table(samples), WORDS).tolist()

    for value, row in zip(found, samples, strict=True):
        wanted = value_of(expression.root, row)
        assert value == pytest.approx(math.nan if wanted is None else wanted, nan_ok=True)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="reward><=!()[]\"'`+-*/%., 019andotin\\\n\x00é", max_size=60))
def test_no_text_does_anything_but_parse_or_complain_with_a_place_in_it(text):
    complaint = None
    try:
        holds(parse(text, KINDS), table([dict.fromkeys(KINDS)]), WORDS)
    except ExpressionError as error:
        complaint = error
    assert complaint is None or (0 <= complaint.position <= len(text) and str(complaint).endswith("."))


@pytest.mark.parametrize(
    ("text", "told", "under"),
    [
        ('reward > "a"', 'expected a number on the right of ">", got a text', '"a"'),
        ("reward = 1", 'Compare with "=="', "= 1"),
        ("reward >", "expected a column, a number, a text or a bracket, got the end", ""),
        ("rewrd > 1", "The closest is reward", "rewrd"),
        ("reward > 1 kl", "expected an operator or the end, got 'kl'", "kl"),
        ("reward", "expected a condition here, got a number. Compare it with something", "reward"),
        ('"x" in reward', "expected a text here, got a number", "reward"),
        ("__import__('os')", "expected a function", "__import__"),
        ("stop.upper() == 1", "expected a function", "stop.upper"),
        ("matches(stop, '(')", "expected a regular expression", "'('"),
        ("not (reward > 1", 'expected ")", got the end', ""),
        ("'abc", "expected the end of the text that begins here", "'abc"),
        ("log(reward, 2) > 1", "expected 1 argument of log, got 2", "log"),
        ("kl & reward", 'Write "and"', "&"),
        ("1..2 > reward", "expected a number", "1..2"),
    ],
)
def test_a_complaint_says_what_was_expected_and_points_at_it(text, told, under):
    with pytest.raises(ExpressionError, match=re.escape(told)) as raised:
        holds(parse(text, KINDS), table([dict.fromkeys(KINDS)]), WORDS)

    assert text[raised.value.position :].startswith(under)
    line, caret = pointed(raised.value).split("\n")
    assert line[caret.index("^") :].startswith(under)


@pytest.mark.parametrize("text", ["(" * 40 + "reward > 1" + ")" * 40, "not " * 40 + "right", "-" * 40 + "1 > 0"])
def test_what_nests_too_deep_is_refused(text):
    with pytest.raises(ExpressionError, match="levels of brackets"):
        parse(text)


def test_a_long_chain_is_evaluated_and_a_longer_one_refused():
    chain = " or ".join(["reward > 0"] * 60)
    assert holds(parse(chain), table([{**dict.fromkeys(KINDS), "reward": 1.0}]), WORDS).tolist() == [True]

    with pytest.raises(ExpressionError, match="parts"):
        parse(" or ".join(["reward > 0"] * 100))
    with pytest.raises(ExpressionError, match="characters"):
        parse("1" * (LONGEST + 1))


def test_a_slash_without_spaces_names_a_column_where_there_is_one_and_divides_elsewhere():
    known = {"reward/format": "number", "reward": "number", "kl": "number", "reward/a/b": "number"}

    assert parse("reward/format > 1", known).names() == {"reward/format"}
    assert parse("reward/a/b > 1", known).names() == {"reward/a/b"}
    assert parse("reward / format > 1", known).names() == {"reward", "format"}
    assert parse("reward/kl > 1", known).names() == {"reward", "kl"}
    assert parse("`reward/format` > 1").names() == {"reward/format"}


def test_a_measure_stands_for_the_best_column_that_there_is():
    block = held_block(
        Samples(columns={"completion": ["ab", "abcd"], "logprob": [-1.0, -3.0], "old_logprob": [-1.0, -2.0]}, rows=2)
    )
    words = Vocabulary(kinds={"completion": "text", "logprob": "number", "old_logprob": "number"})
    columns = block.table(["completion", "logprob", "old_logprob"])

    assert levels(parse("length", words.kinds), columns, words).tolist() == [2.0, 4.0]
    assert levels(parse("ratio", words.kinds), columns, words).tolist() == pytest.approx([1.0, math.exp(-1)])
    with pytest.raises(ExpressionError, match="expected samples with kl or logprob - reference_logprob"):
        levels(parse("kl", words.kinds), columns, words)


def test_the_reward_is_that_of_the_only_function_and_of_none_where_there_are_several():
    one, two = ({f"reward/{name}": "number" for name in names} for names in ("a", "ab"))
    assert Vocabulary(kinds=one).columns(parse("reward > 0")) == {"reward/a"}
    with pytest.raises(ExpressionError, match=r"which has members: reward/a, reward/b\. Name one"):
        Vocabulary(kinds=two).columns(parse("reward > 0"))


def test_every_function_is_known_to_the_evaluator():
    calls = {name: f"{name}(completion, 'x')" if name == "matches" else f"{name}(completion)" for name in FUNCTIONS}
    calls |= {name: f"{name}(reward)" for name in ("abs", "log", "exp", "nan")}
    one = table([{**dict.fromkeys(KINDS), "reward": 1.0, "completion": "x y z w x y z w"}])

    for name, call in calls.items():
        text = {"lower": f"{call} == 'x'", "missing": call, "nan": call, "matches": call}.get(name, f"{call} >= 0")
        assert len(holds(parse(text, KINDS), one, WORDS)) == 1
