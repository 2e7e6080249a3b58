"""What a person asks about samples, in the words of the command line, and the answer as places of samples."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from rlprobe.forensics.checking import check
from rlprobe.forensics.expression import parse
from rlprobe.forensics.groups import NoSuchSamples
from rlprobe.forensics.measures import SORTABLE, Vocabulary
from rlprobe.forensics.query import Found, Query, distance, holding, near, same, select, vocabulary
from rlprobe.forensics.spot_check import Stratum, spot_check
from rlprobe.forensics.syntax import Expression, Name
from rlprobe.recording.layout import STEP
from rlprobe.recording.run import Run
from rlprobe.recording.sample_blocks import SampleBlock

WITHIN = 5  # steps on either side of --around
_REWARD = "reward/"
_SAMPLE = re.compile(r"(-?\d{1,18})/(\d{1,18})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Conditions, order and number as the user wrote them; every condition has to hold.

    Attributes:
        where: an expression.
        sort: an expression; None is the newest first.
        ascending: the smallest first.
        around, within: samples of the steps from around - within to around + within.
        contains: texts that the completion holds, in upper or lower case.
        function: the reward function whose reward "reward" means.
        samples: single samples as STEP/SAMPLE.
        spot_check: how many samples to draw from the levels of the reward.
        seed: decides that draw.
        limit: how many samples; None is all.
    """

    where: str | None = None
    sort: str | None = None
    ascending: bool = False
    around: int | None = None
    within: int = WITHIN
    contains: tuple[str, ...] = ()
    function: str | None = None
    samples: tuple[str, ...] = ()
    spot_check: int | None = None
    seed: int = 0
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Where the samples of an answer lie, and how to say what was asked.

    Attributes:
        blocks, words: the samples and their columns.
        found: the places, in order.
        conditions: the parsed conditions.
        said: order and conditions in words.
        key: the expression that orders them, where it is more than a column; "" otherwise.
        strata: the levels that a spot check drew from.
        notes: what the reader should know.
    """

    blocks: Sequence[SampleBlock]
    words: Vocabulary
    found: Found
    conditions: tuple[Expression, ...]
    said: str
    key: str = ""
    strata: tuple[Stratum, ...] = ()
    notes: tuple[str, ...] = field(default=())


def opened(run: Run, question: Question) -> tuple[Sequence[SampleBlock], Vocabulary]:
    """The samples of a run and what an expression may speak of.

    Raises:
        NoSuchSamples: the run has none, or no reward function of that name.
    """
    blocks = run.sample_blocks()
    if not blocks:
        raise NoSuchSamples("expected samples, got none. Record them with log_samples(), or name a log that has texts.")
    words = vocabulary(blocks)
    if question.function is None:
        return blocks, words
    column = _REWARD + question.function
    if column not in words.kinds:
        known = [name.removeprefix(_REWARD) for name in words.kinds if name.startswith(_REWARD)]
        told = f"one of {', '.join(sorted(known))}" if known else "samples with rewards of single functions"
        raise NoSuchSamples(f"expected {told}, got {question.function[:80]!r}.")
    return blocks, vocabulary(blocks, reward=column)


def conditions(question: Question, words: Vocabulary) -> tuple[Expression, ...]:
    """The question's conditions, parsed.

    Raises:
        ExpressionError: the expression is none, or speaks of what the samples do not have.
        NoSuchSamples: a sample's name is none.
    """
    out: list[Expression] = []
    if question.where is not None:
        parsed = parse(question.where, words.kinds)
        check(parsed, words, wanted="condition")
        out.append(parsed)
    if question.around is not None:
        out.append(near(question.around, question.within))
    out += [holding(text, "completion") for text in question.contains]
    if question.samples:
        out.append(_named(question.samples, words))
    return tuple(out)


def ask(run: Run, question: Question) -> Answer:
    """The samples that a question asks for.

    Raises:
        ExpressionError, NoSuchSamples: the question does not fit what the run has; one line says why.
    """
    blocks, words = opened(run, question)
    where = conditions(question, words)
    if question.spot_check is not None:
        checked = spot_check(blocks, words, question.spot_check, where, seed=question.seed)
        told = f"{checked.without:,} samples without a finite reward are in no level."
        said = _said(f"a spot check from the lowest reward{_of(question)} to the highest", question)
        return Answer(
            blocks=blocks,
            words=words,
            found=checked.found,
            conditions=where,
            said=said,
            strata=checked.strata,
            notes=(told,) if checked.without else (),
        )
    order, ascending, said = _order(question, words)
    found = select(blocks, Query(where=where, sort=order, ascending=ascending, limit=question.limit), words)
    key = "" if isinstance(order.root, Name) or question.sort is None else order.text
    notes = _meant(question, words)
    return Answer(
        blocks=blocks, words=words, found=found, conditions=where, said=_said(said, question), key=key, notes=notes
    )


def _order(question: Question, words: Vocabulary) -> tuple[Expression, bool, str]:
    if question.sort is not None:
        parsed = parse(question.sort, words.kinds)
        check(parsed, words, wanted="number")
        ends = "lowest" if question.ascending else "highest"
        return parsed, question.ascending, f"{ends} {parsed.text} first"
    if question.function is not None:
        ends = "lowest" if question.ascending else "highest"
        reward = Expression(text="reward", root=Name(name="reward", at=0))
        return reward, question.ascending, f"{ends} reward{_of(question)} first"
    if question.around is not None:
        return distance(question.around), True, f"nearest to step {question.around} first"
    step = Expression(text=STEP, root=Name(name=STEP, at=0))
    return step, question.ascending, "oldest first" if question.ascending else "newest first"


def _meant(question: Question, words: Vocabulary) -> tuple[str, ...]:
    """Which column stood for a measure that is no column itself."""
    if question.sort is None or question.sort not in SORTABLE or question.sort in words.kinds:
        return ()
    meaning = words.meaning(question.sort)
    if isinstance(meaning, Name):
        return (f"{question.sort} is {meaning.name}.",)
    from rlprobe.forensics.measures import MEASURES

    told = next(text for text in MEASURES[question.sort] if parse(text, words.kinds).names() <= words.kinds.keys())
    return (f"{question.sort} was not recorded: it is {told}.",)


def _of(question: Question) -> str:
    return "" if question.function is None else f" by {question.function}"


def _said(order: str, question: Question) -> str:
    parts = [order]
    if question.where is not None:
        parts.append(f"where {question.where}")
    if question.around is not None and question.sort is not None:
        parts.append(f"within {question.within} steps of {question.around}")
    parts += [f"containing {text!r}" for text in question.contains]
    return ", ".join(parts)


def _named(names: tuple[str, ...], words: Vocabulary) -> Expression:
    from functools import reduce

    from rlprobe.forensics.syntax import Node, Pair

    nodes: list[Node] = []
    for each in names:
        match = _SAMPLE.fullmatch(each)
        if match is None:
            raise NoSuchSamples(f"expected a sample as STEP/SAMPLE, such as 212/17, got {each[:80]!r}.")
        step, sample = same(STEP, int(match[1])), same("sample", int(match[2]))
        nodes.append(Pair(sign="and", left=step.root, right=sample.root, at=0))
    root = reduce(lambda a, b: Pair(sign="or", left=a, right=b, at=0), nodes)
    named = Expression(text=f"sample {', '.join(names)}", root=root)
    words.columns(named)
    return named
