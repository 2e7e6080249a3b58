"""Each test of a row counts: with one expected result turned wrong, a completion that passes all no longer does."""

from collections.abc import Iterator, Mapping, Sequence

from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.gold import Gold
from rlprobe.verifier.measure.judging import each
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.rewarding import Sample, answers
from rlprobe.verifier.subject import Subject

MOST = 4  # tests of a row that are turned, one at a time
WRONG = "another result than any program prints"
EXPECTED = ("expected_output", "expected", "output", "outputs", "out")  # keys of a test that is a mapping
CHECK = Check(
    id="V121",
    title="every test of a row counts",
    formula="one expected result wrong  =>  score(gold) falls",
    stage="reward",
    category="reward and decoding mismatch",
    needs=("reward",),
    fix="Run every test of the row, and give the full score only where all of them pass.",
    causes=("REWARD_OVEROPTIMIZATION", "EVAL_GAP"),
)


def run(subject: Subject) -> Outcome:
    """The gold completion of a row whose column is a list of tests, with one of them after the other turned."""
    return each(subject, _judged)


def _judged(gold: Gold) -> Outcome:
    if gold.kind != "given" or gold.inverted:
        return not_applicable("it has no row with a gold completion and tests")
    for name in gold.reward.columns:
        tests = gold.gold.columns.get(name)
        if answers(name) or not isinstance(tests, list) or len(tests) < 2:
            continue
        if not _falls(gold, [_turned(one) for one in tests], name):
            continue  # no list of expected results
        spared = [index for index in range(min(len(tests), MOST)) if not _falls(gold, list(_one(tests, index)), name)]
        if spared:
            every = len(spared) == min(len(tests), MOST)
            sample = _with(gold, name, list(_one(tests, spared[0])))
            return failed(
                gold.reward.slot,
                f"{gold.reward.name} gives {gold.score(sample):.4g} with entry {spared[0]} of {name} turned wrong.",
                expected=f"less than {gold.gold_score:.4g}",
                got=f"{gold.score(sample):.4g}",
                example=gold.reward.example([sample]),
                fingerprint="one test is enough" if every else "some tests are never looked at",
            )
    return passed()


def _falls(gold: Gold, tests: list[object], name: str) -> bool:
    try:
        return gold.score(_with(gold, name, tests)) < gold.gold_score
    except RaisedError:
        return False


def _with(gold: Gold, name: str, tests: list[object]) -> Sample:
    sample = gold.gold
    return Sample(completion=sample.completion, prompt=sample.prompt, columns={**sample.columns, name: tests})


def _one(tests: Sequence[object], turned: int) -> Iterator[object]:
    for index, test in enumerate(tests):
        yield _turned(test) if index == turned else test


def _turned(test: object) -> object:
    """The test with another expected result."""
    if isinstance(test, str):
        return f"assert {WRONG!r} == 0" if test.lstrip().startswith("assert") else WRONG
    if isinstance(test, Mapping):
        key = next((one for one in EXPECTED if one in test), None)
        return test if key is None else {**test, key: _turned(test[key])}
    if isinstance(test, list | tuple) and test:
        return type(test)((*test[:-1], _turned(test[-1])))
    return -98765 if isinstance(test, int | float) else test
