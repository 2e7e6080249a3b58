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

_BASELINE_MEMORY = 0.9  # of the running reward mean that REINFORCE subtracts


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
    rng, clock_rng = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2])
    start = schooling.base_policy(recipe.task, seed=seed, hidden=recipe.hidden, lessons=recipe.lessons)
    learner = Learner(policy=start, adam=Adam(), value=_value_network(recipe, seed))
    state = State(step=0, steps=steps, policy=start, start=start, rng=np.random.default_rng([seed, 3]))
    state.past.append(start)
    feeding = _feeding(recipe.task, seed)
    reference, baseline, tokens = start, 0.0, 0.0
    waiting: list[Mapping[str, float]] = []
    for step in range(1, steps + 1):
        state.step, state.policy = step, learner.policy
        occurrences = _passages(recipe, state, learner)
        if recipe.later_task is not None and step == 1 + math.ceil(steps * recipe.switch):
            feeding = _feeding(recipe.later_task, seed)
        reference = recipe.seams.reference(reference, state)
        models = Models(policy=learner.policy, reference=reference, value=learner.value, baseline=baseline)
        rollout = roll_out(recipe, models, feeding.next(recipe.prompts, rng), state, rng)
        baseline = rollout.judged.totals.mean() if step == 1 else baseline
        baseline += (1.0 - _BASELINE_MEMORY) * (float(rollout.judged.totals.mean()) - baseline)
        updates = train(recipe, learner, rollout, state, rng)
        state.past.append(learner.policy)
        row = measures.measured(recipe, rollout, updates) | _bookkeeping(recipe, state, rollout, updates, clock_rng)
        tokens += row["tokens_total"]
        row |= {"tokens_total": tokens, "epoch": feeding.epoch}
        if recipe.evaluate_every and (step % recipe.evaluate_every == 0 or step == 1):
            row["evaluation_score/heldout"] = evaluated(recipe, learner.policy, feeding.heldout, seed)
        if reference is not start:
            row["reference_drift"] = _drift(reference, start)
        waiting.append(recipe.seams.logged(row, state))
        told = step % recipe.logging_steps == 0 or step == steps
        yield Logged(
            step=step,
            metrics=_averaged(waiting) if told else {},
            samples=sample_rows(recipe, rollout, updates),
            occurrences=occurrences,
        )
        waiting = [] if told else waiting


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
