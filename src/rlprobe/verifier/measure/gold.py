"""What a reward function rewards, found by trying: a completion that it scores high, and one that it scores lower."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.columns import Column, answer_columns, completion_of, samples_of, wrong_of
from rlprobe.verifier.measure.forms import Form, forms, tags
from rlprobe.verifier.measure.reading import Reading, read
from rlprobe.verifier.rewarding import Reward, Sample, Score, answers, conventions, rewards
from rlprobe.verifier.subject import Subject, Unavailable

TRIAL_ROWS = 3  # so many that one number for all of them is told from one number each
PATIENCE_SECONDS = 1.0  # of trying forms on one function; slow judges are tried on fewer
_TAG = re.compile(r"</?([A-Za-z_][\w-]*)>")
_EDGE = re.compile(r"(^|_)(start|begin|end|stop|open|close)(_|$)")  # a tag that says by its name which edge it is
UNFORMATTED = "I am not sure what to say about this."
RUNNING = ("", "<think>", "answer is", "answer")  # markers of forms that state the answer in running text
MARKERS = ("boxed", "####", "```")
Kind = Literal["answer", "given", "format", "graded", "constant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """One reward function with what it rewards.

    Attributes:
        reward: the function in the convention that it takes.
        reading: its strings and names.
        kind: "answer" (the right answer of a column scores higher), "given" (a gold completion of the data set does),
            "format" (a form that its source names does), "graded" (texts differ), "constant" (none does).
        gold, wrong: the pair; for "constant" any two.
        gold_score, wrong_score: their scores.
        column: the column of the answer; None where it takes none.
        answer, other: right and wrong answer.
        form: how the answer is stated; None for completions of the data set.
        tried: forms with (score of the right answer, score of the wrong one).
        inverted: whether the wrong one scores higher.
    """

    reward: Reward
    reading: Reading
    kind: Kind
    gold: Sample
    wrong: Sample
    gold_score: float
    wrong_score: float
    column: Column | None = None
    answer: str = "42"
    other: str = "17"
    form: Form | None = None
    tried: tuple[tuple[Form, float, float], ...] = ()
    inverted: bool = False

    def saying(self, said: str, *, answer: str | None = None, form: Form | None = None, reasoning: str = "") -> Sample:
        """A sample whose column holds `answer` and whose completion states `said`."""
        used = form or self.form
        text = said if used is None else (used(said, reasoning) if reasoning else used(said))
        return _answered(self.gold, self.column, self.answer if answer is None else answer).saying(text)

    def score(self, sample: Sample) -> float:
        """The score; what abstains counts as not a number.

        Raises:
            RaisedError: the function raised.
        """
        return _as_float(self.reward.score(sample))

    @property
    def running_text(self) -> bool:
        """Whether an answer in running text, without a marker of its own, is rewarded too."""
        middle = (self.gold_score + self.wrong_score) / 2
        return any(high > middle > low for form, high, low in self.tried if form.marker in RUNNING)

    def rewarded(self, sample: Sample) -> bool:
        """Whether the sample scores as the gold one, or nearer to it than to the wrong one."""
        found = self.score(sample)
        return found > (self.gold_score + self.wrong_score) / 2


def golds(subject: Subject) -> tuple[Gold, ...]:
    """One entry a reward function.

    Raises:
        Unavailable: there is none, or it wants columns that nobody handed over.
        RaisedError: it raises whatever it is given.
    """

    def make() -> object:
        found, absent = [], None
        for one in rewards(subject):
            try:
                found.append(_found(subject, one))
            except Unavailable as reason:
                absent = reason
        if absent is not None and not found:
            return absent
        return tuple(found)

    found = subject.remember("reward golds", make)
    if isinstance(found, Unavailable):
        raise found
    assert isinstance(found, tuple)
    return found


def _found(subject: Subject, reward: Reward) -> Gold:
    rows = tuple(subject.pipeline.dataset or ())
    reading = read(reward.target)
    columns = answer_columns(reward, rows)
    base = samples_of(rows)[0] if rows else Sample(completion="", columns={name: "text" for name in reward.columns})
    settled = _settled(reward, base, columns, forms(reading), invented=not rows and bool(reward.columns))
    deadline = time.monotonic() + PATIENCE_SECONDS
    best = _given(settled, reading, rows)
    for column in columns or (None,):
        for pair in column.pairs if column else (("42", "17"),):
            found = _tried(settled, reading, base, column, pair, deadline)
            if found is not None and (best is None or _rank(found) < _rank(best)):
                best = found
            if best is not None and best.kind == "answer" and not best.inverted:
                return best
    if best is None:
        raise Unavailable(f"{reward.name} scores none of the completions that were tried", ("dataset",))
    return best


def _rank(gold: Gold) -> int:
    """Kinds from the most telling to the least; upside down last, unless it is the answer that is turned."""
    kinds = ("answer", "turned", "format", "given", "graded", "constant")
    turned = gold.inverted and gold.kind == "answer" and gold.column is not None and answers(gold.column.name)
    return kinds.index("turned" if turned else gold.kind) + (len(kinds) if gold.inverted and not turned else 0)


def _settled(
    reward: Reward, base: Sample, columns: tuple[Column, ...], tried: tuple[Form, ...], *, invented: bool
) -> Reward:
    """The first convention in which at least one text is scored.

    Raises:
        RaisedError, Unavailable: none is.
    """
    first: RaisedError | None = None
    for candidate in conventions(reward):
        for column in columns or (None,):
            for form in tried:
                sample = _answered(base, column, column.pairs[0][0] if column else "")
                try:
                    candidate([sample.saying(form(column.pairs[0][0] if column else "42"))] * TRIAL_ROWS)
                except RaisedError as error:
                    first = first or error
                except (ValueError, TypeError):  # an answer that the column's type cannot hold
                    continue
                else:
                    return candidate
    if first is None or invented:
        why = f": {first.told}" if first else ""
        raise Unavailable(
            f"{reward.name} takes {', '.join(reward.columns)}, of which no value was handed over{why}", ("dataset",)
        )
    raise first


def _given(reward: Reward, reading: Reading, rows: tuple[object, ...]) -> Gold | None:
    """The pair of the first row with a gold completion."""
    for row in rows:
        assert isinstance(row, dict) or hasattr(row, "get")
        text = completion_of(row)  # type: ignore[arg-type]  # asserted above: rows are mappings
        if text is None:
            continue
        sample = samples_of((row,))[0]  # type: ignore[arg-type]  # the same
        wrong = sample.saying(wrong_of(row) or UNFORMATTED)  # type: ignore[arg-type]  # the same
        high, low = _as_float(reward.score(sample)), _as_float(reward.score(wrong))
        kind: Kind = "constant" if _close(high, low) else "given"
        return Gold(
            reward=reward, reading=reading, kind=kind, gold=sample, wrong=wrong,
            gold_score=high, wrong_score=low, inverted=high < low,
        )  # fmt: skip
    return None


def _tried(
    reward: Reward, reading: Reading, base: Sample, column: Column | None, pair: tuple[str, str], deadline: float
) -> Gold | None:
    right, wrong = pair
    try:
        row = _answered(base, column, right)
    except (ValueError, TypeError):
        return None
    scored = [
        (form, high, low)
        for form in forms(reading)
        if time.monotonic() < deadline
        for high, low in _both(reward, row.saying(form(right)), row.saying(form(wrong)))
    ]
    if not scored:  # no score is a number: what abstains or fails everywhere is constant too
        form = forms(reading)[0]
        scored = [(form, float("nan"), float("nan"))]
    made = Gold(
        reward=reward, reading=reading, kind="constant", gold=row.saying(scored[0][0](right)),
        wrong=row.saying(scored[0][0](wrong)), gold_score=scored[0][1], wrong_score=scored[0][2],
        column=column, answer=right, other=wrong, form=scored[0][0], tried=tuple(scored),
    )  # fmt: skip
    told_apart = [one for one in scored if not _close(one[1], one[2])]
    better = [one for one in told_apart if one[1] > one[2]]
    if column is not None and (better or told_apart):
        form, high, low = max(better or told_apart, key=lambda one: one[1])
        return replace(
            made, kind="answer", form=form, gold=row.saying(form(right)), wrong=row.saying(form(wrong)),
            gold_score=high, wrong_score=low, inverted=not better,
        )  # fmt: skip
    return _by_format(made, row)


def _by_format(made: Gold, row: Sample) -> Gold:
    plain = next((high for high, _ in _both(made.reward, row.saying(UNFORMATTED), row)), float("nan"))
    named = set(tags(made.reading)) | {one for one in MARKERS if made.reading.mentions(one)}
    own = [one for one in made.tried if any(name in one[0](made.answer) for name in named)]
    wrong = row.saying(UNFORMATTED)
    whole = [one for one in own if _well_formed(one[0](made.answer))]
    half = max((one for one in own if one not in whole), key=lambda one: one[1], default=None)
    if whole and half is not None and half[1] > max(one[1] for one in whole):
        best = max(whole, key=lambda one: one[1])
        return replace(
            made, kind="format", form=best[0], gold=row.saying(best[0](made.answer)), gold_score=best[1],
            wrong=row.saying(half[0](made.answer)), wrong_score=half[1], inverted=True,
        )  # fmt: skip
    if own:
        form, high, _ = max(whole or own, key=lambda one: one[1])
        low = min(high_ for _, high_, _ in own)
        if high > plain and not _close(high, plain):
            return replace(
                made, kind="format", form=form, gold=row.saying(form(made.answer)), wrong=wrong,
                gold_score=high, wrong_score=plain,
            )  # fmt: skip
        if low < plain and not _close(low, plain) and _close(high, plain):
            lowest = next(one for one in own if _close(one[1], low))[0]
            return replace(
                made, kind="format", form=lowest, gold=row.saying(lowest(made.answer)), wrong=wrong,
                gold_score=low, wrong_score=plain, inverted=True,
            )  # fmt: skip
    form, high, _ = max(made.tried, key=lambda one: one[1])
    if high != high:
        return replace(made, wrong=wrong, wrong_score=plain)
    if all(_close(one[1], high) and _close(one[2], high) for one in made.tried) and _close(plain, high):
        return replace(made, wrong=wrong, wrong_score=plain)
    return replace(
        made, kind="graded", form=form, gold=row.saying(form(made.answer)), wrong=wrong,
        gold_score=high, wrong_score=plain,
    )  # fmt: skip


def _well_formed(text: str) -> bool:
    """Whether tags of answers open and close in turn; a reasoning tag may have been opened in the prompt."""
    names = {name for name in _TAG.findall(text) if not name.startswith("think") and not _EDGE.search(name)}
    return all(text.count(f"<{name}>") == text.count(f"</{name}>") == 1 for name in names)


def _both(reward: Reward, right: Sample, wrong: Sample) -> Iterator[tuple[float, float]]:
    """Both scores; nothing where the function raises, which is another check's to tell."""
    try:
        high, low = _as_float(reward.score(right)), _as_float(reward.score(wrong))
    except RaisedError:
        return
    if high == high and low == low:  # a number each
        yield high, low


def _answered(sample: Sample, column: Column | None, answer: str) -> Sample:
    if column is None:
        return sample
    return replace(sample, columns={**sample.columns, column.name: column.write(answer)})


def _as_float(score: Score) -> float:
    return float("nan") if score is None else score


def _close(left: float, right: float) -> bool:
    return (
        left == right
        or (left != left and right != right)
        or abs(left - right) <= 1e-9 * max(1.0, abs(left), abs(right))
    )
