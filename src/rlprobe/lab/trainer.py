"""The training loop: rollout, updates, one row of metrics and one row a sample, step after step."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from rlprobe.lab import clock, measures, policy, sampler, schooling, tasks
from rlprobe.lab.forensics import sample_rows
from rlprobe.lab.optimizer import Adam
from rlprobe.lab.policy import Generator
from rlprobe.lab.recipe import Recipe, State
from rlprobe.lab.rewards import correct
from rlprobe.lab.rollout import Models, Rollout, roll_out
from rlprobe.lab.tasks import Prompts
from rlprobe.lab.update import Learner, Update, train
from rlprobe.lab.vocabulary import decode

_BASELINE_GAIN = 0.1  # of a step's mean reward in the running mean that REINFORCE subtracts


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """An event of a run: its kind and the kind's own fields."""

    kind: str
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """What one step hands to the log; `metrics` is empty where the loop logs only every few steps."""

    step: int
    metrics: Mapping[str, float]
    samples: list[dict[str, object]]
    occurrences: tuple[Occurrence, ...] = ()


@dataclass(slots=True)
class _Feeding:
    """Prompts in epochs: each training prompt once in random order, then again."""

    training: Prompts
    heldout: Prompts
    order: list[int] = field(default_factory=list)
    drawn: int = 0

    def next(self, count: int, rng: Generator) -> Prompts:
        while len(self.order) < count:
            self.order += rng.permutation(len(self.training)).tolist()
        taken, self.order = self.order[:count], self.order[count:]
        self.drawn += count
        return self.training.take(np.array(taken))

    @property
    def epoch(self) -> float:
        return self.drawn / len(self.training)


def policy_gradient(recipe: Recipe, *, steps: int, seed: int) -> Iterator[Logged]:
    """Train with a policy gradient and yield every step; the same arguments give the same bits."""
    start = schooling.base_policy(recipe.task, seed=seed, hidden=recipe.hidden, lessons=recipe.lessons)
    state = State(step=0, steps=steps, policy=start, start=start, rng=np.random.default_rng([seed, 3]))
    state.past.append(start)
    first = _feeding(recipe.task, seed)
    training = _Training(
        recipe=recipe,
        seed=seed,
        state=state,
        learner=Learner(policy=start, adam=Adam(), value=_value_network(recipe, seed)),
        first=first,
        feeding=first,
        reference=start,
        rng=np.random.default_rng([seed, 1]),
        clock_rng=np.random.default_rng([seed, 2]),
    )
    for step in range(1, steps + 1):
        with np.errstate(all="ignore"):  # a fault may break numbers; the row says so
            logged = training.advance(step)
        yield logged


@dataclass(slots=True)
class _Training:
    """A run under way: what it has learned, where its prompts and random numbers stand, what waits for the log."""

    recipe: Recipe
    seed: int
    state: State
    learner: Learner
    first: _Feeding
    feeding: _Feeding  # the one that most prompts of the step come from; it counts epochs and has the held-out prompts
    reference: policy.Weights
    rng: Generator
    clock_rng: Generator
    second: _Feeding | None = None
    baseline: float | None = None
    tokens: float = 0.0
    waiting: list[Mapping[str, float]] = field(default_factory=list)

    def advance(self, step: int) -> Logged:
        """One step, and what it hands to the log."""
        recipe, state, learner = self.recipe, self.state, self.learner
        state.step, state.policy = step, learner.policy
        occurrences = _passages(recipe, state, learner)
        self.reference = recipe.seams.reference(self.reference, state)
        models = Models(
            policy=learner.policy, reference=self.reference, value=learner.value, baseline=self.baseline or 0.0
        )
        rollout = roll_out(recipe, models, self._prompts(), state, self.rng)
        updates = train(recipe, learner, rollout, state, self.rng)
        state.past.append(learner.policy)
        paid = float(rollout.judged.totals.mean())
        self.baseline = paid if self.baseline is None else self.baseline + _BASELINE_GAIN * (paid - self.baseline)
        self.waiting.append(recipe.seams.logged(self._row(rollout, updates), state))
        told = step % recipe.logging_steps == 0 or step == state.steps
        metrics = _averaged(self.waiting) if told else {}
        self.waiting = [] if told else self.waiting
        return Logged(
            step=step, metrics=metrics, samples=sample_rows(recipe, rollout, updates), occurrences=occurrences
        )

    def _prompts(self) -> Prompts:
        """The step's prompts: of the first task, of the later one, or of both."""
        recipe = self.recipe
        share = 0.0 if recipe.later_task is None else recipe.later_share(self.state.step, self.state.steps)
        later = round(share * recipe.prompts)
        if recipe.later_task is None or later == 0:
            self.feeding = self.first
            return self.first.next(recipe.prompts, self.rng)
        self.second = self.second or _feeding(recipe.later_task, self.seed)
        self.feeding = self.second if 2 * later > recipe.prompts else self.first
        harder = self.second.next(later, self.rng)
        if later == recipe.prompts:
            return harder
        return self.first.next(recipe.prompts - later, self.rng).joined(harder)

    def _row(self, rollout: Rollout, updates: list[Update]) -> dict[str, float]:
        recipe, state = self.recipe, self.state
        row = measures.measured(recipe, rollout, updates)
        row |= _bookkeeping(recipe, state, rollout, updates, self.clock_rng)
        self.tokens += row["tokens_total"]
        row |= {"tokens_total": self.tokens, "epoch": self.feeding.epoch}
        if recipe.evaluate_every and (state.step % recipe.evaluate_every == 0 or state.step == 1):
            row["evaluation_score/heldout"] = evaluated(recipe, self.learner.policy, self.feeding.heldout, self.seed)
        if self.reference is not state.start:
            row["reference_drift"] = _drift(self.reference, state.start)
        return row


def _feeding(task: tasks.Task, seed: int) -> _Feeding:
    training, heldout = tasks.split(task, np.random.default_rng([seed, 4]))
    return _Feeding(training=training, heldout=heldout)


def _value_network(recipe: Recipe, seed: int) -> policy.Weights | None:
    if recipe.algorithm != "ppo":
        return None
    return policy.initial(np.random.default_rng([seed, 5]), hidden=recipe.hidden, outputs=1)


def _passages(recipe: Recipe, state: State, learner: Learner) -> tuple[Occurrence, ...]:
    """What happens before a step: a checkpoint, or the process is stopped and started again from the last one."""
    resumed = recipe.resume > 0 and state.step == 1 + math.ceil(state.steps * recipe.resume)
    if resumed:
        learner.policy = state.policy = recipe.seams.restored(state)
        if not recipe.keep_optimizer:
            learner.adam, learner.value_adam = Adam(), Adam()
        return (Occurrence(kind="resume", fields={"from_step": state.step - 1}),)
    if state.step > 1 and (state.step - 1) % 100 == 0:
        return (Occurrence(kind="checkpoint", fields={"path": f"checkpoint-{state.step - 1}"}),)
    return ()


def evaluated(recipe: Recipe, weights: policy.Weights, heldout: Prompts, seed: int) -> float:
    """Fraction of the held-out prompts that the policy answers right, one sample each with draws of its own."""
    rng = np.random.default_rng([seed, 6])
    plain = replace(recipe.sampling, blocked=(), top_k=0, shared_draws=False, temperature=1.0)
    written = sampler.sample(weights, heldout.tokens, rng, plain, group_size=1)
    texts = [decode(row[:length]) for row, length in zip(written.tokens, written.lengths, strict=True)]
    return float(np.mean([correct(answer, text) for answer, text in zip(heldout.answers, texts, strict=True)]))


def _bookkeeping(
    recipe: Recipe, state: State, rollout: Rollout, updates: list[Update], rng: Generator
) -> dict[str, float]:
    """Learning rates, staleness, time and memory."""
    lengths = rollout.completions.lengths
    work = clock.Work(
        positions=int(lengths.max()),
        tokens=int(lengths.sum()),
        samples=len(lengths),
        updates=len(updates),
        overhead=recipe.seams.overhead(state),
        straggler=recipe.seams.straggler(state),
        ranks=recipe.ranks,
    )
    row = clock.priced(work, state.held, rng)
    factor = recipe.schedule(state.step, state.steps)
    row["learning_rate"] = recipe.learning_rate * factor
    if recipe.algorithm == "ppo":
        row["value_learning_rate"] = recipe.value_rate
    if recipe.asynchronous:
        row |= {"staleness_mean": float(rollout.lag), "staleness_max": float(rollout.lag)}
    return row


def _drift(reference: policy.Weights, start: policy.Weights) -> float:
    """Norm of the reference's change divided by the norm of what it was."""
    changed = sum(float(((reference[name] - start[name]) ** 2).sum()) for name in start)
    return math.sqrt(changed / sum(float((values**2).sum()) for values in start.values()))


def _averaged(rows: list[Mapping[str, float]]) -> Mapping[str, float]:
    """One row for several steps: means, and the last of what only counts up."""
    if len(rows) == 1:
        return rows[0]
    names = dict.fromkeys(name for row in rows for name in row)
    means = {name: float(np.mean([row[name] for row in rows if name in row])) for name in names}
    return means | {name: rows[-1][name] for name in ("tokens_total", "epoch", "learning_rate") if name in rows[-1]}
