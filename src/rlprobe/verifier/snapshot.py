"""What every reward, advantage and decode branch gives on fixed inputs, to see after a change what else moved."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rlprobe.verifier.function import RaisedError
from rlprobe.verifier.measure.shapes import awkward
from rlprobe.verifier.pipeline import Pipeline
from rlprobe.verifier.state import preserved
from rlprobe.verifier.subject import Subject, Unavailable

SCHEMA = "rlprobe.snapshot/1"
GOLD = "So it is \\boxed{42}."  # the text that the shapes are made of
# The three branches of a decoder that knows reasoning, and every other shape that a completion comes in.
COMPLETIONS: Mapping[str, str] = {
    "no markers": GOLD,
    "reasoning opened and closed": f"<think>six times seven</think>{GOLD}",
    "reasoning never closed": f"<think>six times seven. {GOLD}",
    "an answer tag": "<think>six times seven</think>\n<answer>42</answer>",
    **dict(awkward(GOLD)),
}
TOLERANCE = 1e-6  # relative; below it two numbers are the same answer


class UnreadableSnapshot(ValueError):
    """A file that is no snapshot; the message says what was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One branch whose answer moved; "" stands for an answer that is not there."""

    branch: str
    before: str
    after: str


def take(pipeline: Pipeline) -> dict[str, object]:
    """The answer of every branch by name: "advantages/a flat group" -> list of numbers."""
    subject = Subject(pipeline)
    answers: dict[str, object] = {}
    with preserved(pipeline):
        for collect in (_advantages, _decoded, _rewarded):
            try:
                answers.update(collect(subject))
            except (Unavailable, RaisedError):
                continue  # a slot that is not there has no branches
    return answers


def text(answers: Mapping[str, object]) -> str:
    """A snapshot as JSON."""
    return json.dumps({"schema": SCHEMA, "answers": dict(answers)}, indent=1) + "\n"


def parse(written: str, name: str) -> dict[str, object]:
    """The answers of a snapshot in JSON.

    Raises:
        UnreadableSnapshot: it is none.
    """
    how = "Make one with `rlprobe verify TARGET --snapshot FILE`."
    try:
        tree = json.loads(written)
    except (ValueError, RecursionError) as error:
        raise UnreadableSnapshot(f"{name}: expected JSON, got something else ({str(error)[:80]}). {how}") from error
    answers = tree.get("answers") if isinstance(tree, Mapping) and tree.get("schema") == SCHEMA else None
    if not isinstance(answers, Mapping):
        raise UnreadableSnapshot(f"{name}: expected a snapshot with schema {SCHEMA}. {how}")
    return dict(answers)


def differences(before: Mapping[str, object], after: Mapping[str, object]) -> tuple[Difference, ...]:
    """Branches whose answer is another one now, by name."""
    found = []
    for branch in sorted({*before, *after}):
        old, new = before.get(branch), after.get(branch)
        if not _same(old, new):
            found.append(Difference(branch=branch, before=_shown(old), after=_shown(new)))
    return tuple(found)


def _advantages(subject: Subject) -> dict[str, object]:
    advantages = subject.advantages()
    size = advantages.group_size
    varied = np.arange(size, dtype=np.float64) / size
    cases = {
        "two varied groups": np.concatenate([varied, varied[::-1] * 2.0]),
        "a flat group beside a varied one": np.concatenate([np.ones(size), varied]),
        "rewards of 0 and 1": np.concatenate([np.arange(size) % 2.0, (np.arange(size) == 0).astype(float)]),
        "negative rewards": np.concatenate([-varied, -varied * 3.0]),
        "large rewards": np.concatenate([1e4 * varied, 1e4 + varied]),
    }
    return {f"advantages/{name}": _answer(lambda r=rewards: advantages(r)) for name, rewards in cases.items()}


def _decoded(subject: Subject) -> dict[str, object]:
    from rlprobe.verifier.decoding import decoder

    found = decoder(subject)
    return {f"decode/{name}": _answer(lambda t=text: found.text(t)) for name, text in COMPLETIONS.items()}


def _rewarded(subject: Subject) -> dict[str, object]:
    from rlprobe.verifier.measure.gold import golds

    answers: dict[str, object] = {}
    for gold in golds(subject):
        right, wrong = gold.gold, gold.wrong
        cases = {name: right.saying(text) for name, text in COMPLETIONS.items()}
        for name, sample in {"a right answer": right, "a wrong answer": wrong, **cases}.items():
            answers[f"reward/{gold.reward.name}/{name}"] = _answer(lambda g=gold, o=sample: g.reward.score(o))
    return answers


def _answer(call: object) -> object:
    try:
        result = call()  # type: ignore[operator]  # a closure over one case
    except RaisedError as error:
        return f"raises {error.told.partition(' (')[0]}"
    if result is None or isinstance(result, str):
        return result
    return [float(one) if np.isfinite(one) else str(one) for one in np.asarray(result, dtype=np.float64).reshape(-1)]


def _same(old: object, new: object) -> bool:
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(_same(a, b) for a, b in zip(old, new, strict=True))
    if isinstance(old, float | int) and isinstance(new, float | int):
        return abs(old - new) <= TOLERANCE * max(1.0, abs(old))
    return old == new


def _shown(answer: object) -> str:
    if answer is None:
        return ""
    if isinstance(answer, list):
        return f"[{', '.join(f'{one:.6g}' if isinstance(one, float) else str(one) for one in answer)}]"
    return repr(answer)
