"""The user's reward functions as (samples) -> scores, whichever of the usual conventions they have."""

import copy
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from rlprobe.verifier.binding import COLUMN, Binding
from rlprobe.verifier.function import RaisedError, location, prepare, told
from rlprobe.verifier.measure.reading import defaults, keyword_reads
from rlprobe.verifier.patience import limited
from rlprobe.verifier.subject import Subject

Layout = Literal["batch", "single"]
Score = float | None  # None: the function abstains
# fmt: off
SINGULAR = frozenset((
    "completion", "response", "text", "output", "solution_str", "generation", "pred", "prediction", "content",
    "completion_text", "response_text", "model_output",
))
PLURAL = frozenset(("completions", "responses", "texts", "outputs", "generations", "predictions", "queries"))
# fmt: on
ROWS = frozenset(("sample", "example", "row", "item", "record", "entry", "instance", "datum", "doc", "rollout", "data"))
TEXT_KEYS = ("completion", "response", "text", "output", "generation", "prediction", "solution_str")
SCORE_KEYS = ("score", "reward", "rewards", "scores")  # of a result that is a mapping (verl, OpenRLHF)
ALWAYS = ("prompts", "completions", "completion_ids")  # what trainers hand over beside the columns
PROMPTS = ("prompt", "question", "problem", "query")
COMPLETIONS = ("completion", "gold_completion", "chosen")  # of a row: a completion that deserves the reward
NOT_COLUMNS = frozenset(("prompt", "completion", "completion_ids", "wrong", "rejected", "wrong_completion", "bad"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One completion to be scored: its text, its prompt (text or messages), its columns of the data set."""

    completion: str
    prompt: object = "Solve the problem."
    columns: Mapping[str, object] = field(default_factory=dict)

    def saying(self, completion: str) -> "Sample":
        """The same row with another completion."""
        return replace(self, completion=completion)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """A reward function with its convention.

    Attributes:
        slot: "reward", or "reward:name" where several were handed over.
        target: the user's callable.
        binding: parameters to roles; a column's role is "column NAME".
        columns: columns that it takes by name.
        layout: "batch" takes lists, "single" one completion.
        chat: whether a completion is a list of messages.
        joined: whether what it takes as a completion is prompt and completion in one (OpenRLHF's queries).
        row: whether it takes one mapping with the completion and the columns.
    """

    slot: str
    target: Callable[..., object]
    binding: Binding
    columns: tuple[str, ...]
    layout: Layout = "batch"
    chat: bool = False
    joined: bool = False
    row: bool = False

    @property
    def name(self) -> str:
        """The function's own name."""
        plain = getattr(self.target, "func", self.target)
        return str(getattr(plain, "__name__", type(plain).__name__))

    @property
    def where(self) -> str:
        """File and line of the function."""
        return location(self.target)

    def __call__(self, samples: Sequence[Sample]) -> list[Score]:
        """One score a sample.

        Raises:
            RaisedError: it raised, or the result has not one number a sample.
        """
        if self.layout == "single":
            return [self._scores(self.call([one]), [one])[0] for one in samples]
        return self._scores(self.call(samples), samples)

    def score(self, sample: Sample) -> Score:
        """The score of one sample in a batch of one.

        Raises:
            RaisedError: as above.
        """
        return self([sample])[0]

    def call(self, samples: Sequence[Sample]) -> object:
        """The result as the function gives it.

        Raises:
            RaisedError: it raised.
        """
        positional, keywords = self.arguments(samples)
        return self.called(positional, keywords, samples)

    def called(self, positional: list[object], keywords: dict[str, object], samples: Sequence[Sample]) -> object:
        """The result for arguments that `arguments` gave for these samples.

        Raises:
            RaisedError: it raised.
        """

        def scored() -> object:
            result = self.target(*positional, **keywords)
            return _awaited(result) if hasattr(result, "__await__") else result

        try:
            return limited(scored, slot=self.slot, target=self.target)
        except Exception as error:
            raise RaisedError(self.slot, told(error, self.target), self.example(samples)) from error

    def arguments(self, samples: Sequence[Sample]) -> tuple[list[object], dict[str, object]]:
        """Positional and keyword arguments, fresh objects each time."""
        values: dict[str, list[object]] = {
            "completions": [self._shaped(one) for one in samples],
            "prompts": [self._prompt(one) for one in samples],
            "completion_ids": [[ord(letter) for letter in one.completion] for one in samples],
        }
        for column in self.columns:
            values[COLUMN + column] = [copy.deepcopy(one.columns.get(column)) for one in samples]
        shaped: dict[str, object] = {role: one if self.layout == "batch" else one[0] for role, one in values.items()}
        positional, keywords = self.binding.arrange(shaped)
        bound = {one.parameter for one in self.binding.bound}
        wanted = set() if self.row else set(self.columns) - bound
        keywords.update({column: shaped[COLUMN + column] for column in wanted})
        if self.binding.extra and self.layout == "batch":
            keywords.update({name: shaped[name] for name in ALWAYS if not self.binding.takes(name)})
        return positional, keywords

    def example(self, samples: Sequence[Sample]) -> dict[str, object]:
        """What is shown of an input: completions, and the columns that the function takes."""
        shown: dict[str, object] = {"completions": [one.completion for one in samples]}
        if self.binding.takes("prompts"):
            shown["prompts"] = [one.prompt for one in samples]
        return {**shown, **{column: [one.columns.get(column) for one in samples] for column in self.columns}}

    def _shaped(self, sample: Sample) -> object:
        if self.row:
            texts = dict.fromkeys(TEXT_KEYS, sample.completion)
            return {**texts, "prompt": sample.prompt, "question": sample.prompt, **copy.deepcopy(dict(sample.columns))}
        if self.joined:
            return f"{sample.prompt}{sample.completion}"
        return [{"role": "assistant", "content": sample.completion}] if self.chat else sample.completion

    def _prompt(self, sample: Sample) -> object:
        if self.chat and isinstance(sample.prompt, str):
            return [{"role": "user", "content": sample.prompt}]
        return sample.prompt

    def _scores(self, result: object, samples: Sequence[Sample]) -> list[Score]:
        listed = _listed(result, single=self.layout == "single")
        try:
            scores = [_number(one) for one in listed]
        except TypeError as error:
            raise RaisedError(self.slot, f"no exception, but {error}", self.example(samples)) from error
        if len(scores) != len(samples):
            raise RaisedError(
                self.slot,
                f"no exception, but {len(scores)} scores for {len(samples)} completions",
                self.example(samples),
            )
        return scores


def rewards(subject: Subject) -> tuple[Reward, ...]:
    """Every reward function with its parameters bound, before any call.

    Raises:
        Unavailable: there is none.
        Unbindable: a parameter's role is not known.
    """
    targets = subject.rewards()
    return tuple(_bound(subject, one, "reward" if len(targets) == 1 else "") for one in targets)


def conventions(reward: Reward) -> list[Reward]:
    """The same function in every convention, the most likely first."""
    taken = [one for one in reward.binding.bound if one.role == "completions"]
    if reward.row:
        return [replace(reward, layout="single", chat=False), replace(reward, layout="batch", chat=False)]
    single = any(one.parameter.lower() in SINGULAR or one.annotation in ("<class 'str'>", "str") for one in taken)
    plural = any(one.parameter.lower() in PLURAL for one in taken)
    layouts: tuple[Layout, ...] = ("single", "batch") if single else ("batch",) if plural else ("batch", "single")
    chats = (True, False) if reward.chat else (False, True)
    return [replace(reward, layout=layout, chat=chat) for chat in chats for layout in layouts]


def same(left: Score, right: Score, tolerance: float = 1e-6) -> bool:
    """Whether two scores agree; None and NaN agree with themselves alone."""
    if left is None or right is None:
        return left is right
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    return abs(left - right) <= tolerance * max(1.0, abs(left), abs(right))


def shown_scores(scores: Sequence[Score]) -> str:
    """Scores in one short line."""
    told_ones = ", ".join("None" if one is None else f"{one:.6g}" for one in scores[:8])
    return f"[{told_ones}{', ...' if len(scores) > 8 else ''}]"


def _bound(subject: Subject, target: Callable[..., object], slot: str) -> Reward:
    function = prepare(target, "reward", subject.pipeline.map, subject.declared)
    binding = function.binding
    joined = False
    if not binding.takes("completions") and any(one.parameter in ("queries", "query") for one in binding.bound):
        joined = True
        swapped = tuple(
            replace(one, role="completions")
            if one.parameter in ("queries", "query")
            else (replace(one, role="prompts") if one.parameter in ("prompts", "prompt") else one)
            for one in binding.bound
        )
        binding = replace(binding, bound=swapped)
    rows = subject.pipeline.dataset or ()
    known = {str(name) for row in rows[:1] for name in row} - NOT_COLUMNS
    taken = [one.role.removeprefix(COLUMN) for one in binding.bound if one.role.startswith(COLUMN)]
    bound = {one.parameter for one in binding.bound}
    taken += [name for name in defaults(target) if name not in bound and (name in known or answers(name))]
    if binding.extra:
        taken += [name for name in (*keyword_reads(target), *sorted(known)) if name not in bound]
    unique = tuple(dict.fromkeys(name for name in taken if name not in ALWAYS))
    row = any(one.role == "completions" and one.parameter.lower() in ROWS for one in binding.bound)
    unique = tuple(dict.fromkeys((*unique, *sorted(known)))) if row else unique
    made = Reward(slot=slot, target=target, binding=binding, columns=unique, joined=joined, row=row)
    chat = any(isinstance(row.get("prompt"), list) for row in rows[:1])
    return replace(made, slot=slot or f"reward:{made.name}", chat=chat)


def answers(name: str) -> bool:
    """Whether a column of that name holds the right answer."""
    return name.lower().strip("_") in ANSWER_COLUMNS


# fmt: off
ANSWER_COLUMNS = frozenset((
    "answer", "answers", "solution", "solutions", "ground_truth", "ground_truths", "gt", "gts", "gold", "golds",
    "label", "labels", "target", "targets", "reference", "references", "expected", "final_answer", "correct_answer",
    "gold_answer", "truth", "truths", "reference_answer", "expected_answer", "correct_answers", "gold_answers",
))
# fmt: on


def _listed(result: object, *, single: bool) -> list[object]:
    if isinstance(result, Mapping):
        named = [result[key] for key in SCORE_KEYS if key in result]
        if not named:
            keys = ", ".join(str(key) for key in result)
            return [f"a mapping of {keys:.60} without {' or '.join(SCORE_KEYS[:2])}"]
        return _listed(named[0], single=single)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(result, torch.Tensor):
        result = result.detach().cpu().numpy()
    if isinstance(result, np.ndarray):
        result = result.tolist() if result.ndim else result.item()
    if single:
        return [result[0] if isinstance(result, tuple | list) and result else result]
    if isinstance(result, tuple) and result and isinstance(result[0], list | np.ndarray):
        return _listed(result[0], single=False)
    return list(result) if isinstance(result, list | tuple) else [result]


def _number(value: object) -> Score:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor) and value.numel() == 1:
        return float(value.item())
    if value is None:
        return None
    if isinstance(value, Mapping):
        return _number(next((value[key] for key in SCORE_KEYS if key in value), "a mapping without a score"))
    if isinstance(value, bool | int | float | np.number | np.bool_):
        return float(value)
    raise TypeError(f"got {type(value).__name__} {value!r:.60} as a score, expected a number")


def _awaited(coroutine: object) -> object:
    import asyncio

    async def waited() -> object:
        return await coroutine  # type: ignore[misc]  # hasattr __await__ told it can be

    return asyncio.run(waited())
