"""Verifiable toy tasks: prompts with one right answer, and the demonstrations a base policy learns from.

A prompt is an operation and three digits ("~472"); a good completion may think in letters and then answers in brackets
("cafe<274>"). Demonstrations are noisy, so that a base policy is right part of the time and reinforcement learning has
something to sharpen.
"""

import math
from dataclasses import dataclass

import numpy as np

from rlprobe.lab.policy import BoolArray, Generator
from rlprobe.lab.vocabulary import EOS, THOUGHTS, TOKEN, TOOL, IntArray

_ZERO, _OPEN, _CLOSE, _THOUGHT = TOKEN["0"], TOKEN["<"], TOKEN[">"], TOKEN[THOUGHTS[0]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A family of prompts and the habits of its demonstrations.

    Attributes:
        operations: the operations that prompts ask for.
        taught: the operations that demonstrations show; others are new to the base policy.
        wrong: chance of a wrong answer in a demonstration.
        malformed: chance of a missing bracket in a demonstration.
        thoughts: mean letters before the answer.
        rambling_hurts: whether the chance of a wrong answer grows with the letters before it.
        tools: chance of a tool call among the thoughts.
        training, heldout: distinct prompts for training and for evaluation.
    """

    operations: str = "~"
    taught: str = "~^="
    wrong: float = 0.5
    malformed: float = 0.1
    thoughts: float = 2.0
    rambling_hurts: bool = False
    tools: float = 0.0
    training: int = 400
    heldout: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """(n, PROMPT) prompt tokens with their texts and right answers."""

    tokens: IntArray
    texts: tuple[str, ...]
    answers: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, indices: IntArray) -> "Prompts":
        """The prompts at some indices."""
        picked = indices.tolist()
        return Prompts(
            tokens=self.tokens[indices],
            texts=tuple(self.texts[i] for i in picked),
            answers=tuple(self.answers[i] for i in picked),
        )

    def joined(self, others: "Prompts") -> "Prompts":
        """These prompts, then the others."""
        return Prompts(
            tokens=np.concatenate([self.tokens, others.tokens]),
            texts=self.texts + others.texts,
            answers=self.answers + others.answers,
        )


def second_half(step: int, steps: int) -> float:
    """A task that changes at half of the run."""
    return float(step > math.ceil(steps / 2))


def answer(operation: str, digits: str) -> str:
    """The right answer to a prompt."""
    match operation:
        case "=":
            return digits
        case "~":
            return digits[::-1]
        case "^":
            return "".join(sorted(digits))
        case _:
            return str(sum(map(int, digits)) % 10)


def prompts(operations: str, count: int, rng: Generator) -> Prompts:
    """Distinct prompts in random order, as many as asked for or as there are."""
    numbers = rng.permutation(1000 * len(operations))[:count].tolist()
    texts = tuple(f"{operations[number // 1000]}{number % 1000:03d}" for number in numbers)
    tokens = np.array([[TOKEN[character] for character in text] for text in texts], dtype=np.int64)
    return Prompts(tokens=tokens, texts=texts, answers=tuple(answer(text[0], text[1:]) for text in texts))


def split(task: Task, rng: Generator) -> tuple[Prompts, Prompts]:
    """Training and held-out prompts without overlap."""
    drawn = prompts(task.operations, task.training + task.heldout, rng)
    return drawn.take(np.arange(task.training)), drawn.take(np.arange(task.training, len(drawn)))


def demonstrations(task: Task, count: int, rng: Generator) -> tuple[IntArray, IntArray, BoolArray]:
    """(count, PROMPT) prompts, (count, longest) completions and their mask, drawn with the task's habits."""
    every = prompts(task.taught, 1000 * len(task.taught), rng)
    shown = every.take(np.arange(count) % len(every))
    habits = rng.random((count, 4))
    thoughts = np.minimum(rng.geometric(1.0 / (1.0 + task.thoughts), count) - 1, 12)
    rows = [_demonstration(task, shown.answers[i], int(thoughts[i]), habits[i].tolist(), rng) for i in range(count)]
    longest = max(map(len, rows))
    lengths = np.array([len(row) for row in rows])
    tokens = np.full((count, longest), EOS, dtype=np.int64)
    for i, row in enumerate(rows):
        tokens[i, : len(row)] = row
    return shown.tokens, tokens, np.arange(longest) < lengths[:, None]


def _demonstration(task: Task, right: str, thoughts: int, habits: list[float], rng: Generator) -> list[int]:
    """Tokens of one demonstration, its end token included."""
    digits = [_ZERO + int(digit) for digit in right]
    if habits[0] < task.wrong * (0.3 * thoughts if task.rambling_hurts else 1.0):
        digits[int(habits[1] * len(digits))] = _ZERO + int(rng.integers(10))
    written = (_THOUGHT + rng.integers(0, len(THOUGHTS), thoughts)).tolist()
    if habits[2] < task.tools:
        written.insert(int(rng.integers(len(written) + 1)), TOKEN[TOOL])
    bracketed = [_OPEN, *digits, _CLOSE]
    if habits[3] < task.malformed:
        del bracketed[0 if habits[3] < task.malformed / 2 else -1]
    return [*written, *bracketed, EOS]
