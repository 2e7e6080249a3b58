"""One training step of the user's, made on a small batch, looked at from all sides and taken back."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rlprobe.recording.run import BoolArray, FloatArray, IntArray
from rlprobe.verifier.arrays import Convention, MaskKind, to_numpy
from rlprobe.verifier.function import Function, RaisedError
from rlprobe.verifier.measure.engine import engine_scores
from rlprobe.verifier.measure.scoring import Scorer, quiet, scorer
from rlprobe.verifier.measure.spying import Call, overheard
from rlprobe.verifier.measure.weights import copied, moved, policy, restored
from rlprobe.verifier.subject import Subject, Unavailable

if TYPE_CHECKING:
    import torch

LENGTHS = (7, 5, 6, 4)
OURS = ("backward", "grad", "in-place", "inplace", "leaf variable", "graph")  # words of errors that are the step's own


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What a step is made on: ids [B,T], mask [B,T] on the declared side, advantages [B] of both signs.

    Attributes:
        old_shift: what is added to the old log-probs of a step that takes them, nats a token.
    """

    ids: IntArray
    mask: BoolArray
    advantages: FloatArray
    old_shift: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What one step did.

    Attributes:
        before, after: clones of the policy's tensors.
        reference_moved: names of the reference's tensors that the step changed.
        reference_gradients: names of the reference's tensors that were given a gradient.
        losses: calls of the loss, by role, in order; empty where it could not be overheard.
        scored: calls of the scoring function with the policy, the same.
        training: the policy's mode after the step, having been in training mode before.
        scores: the policy's log-probs after the step; engine: the sampler's, where there is one.
    """

    before: "Mapping[str, torch.Tensor]"
    after: "Mapping[str, torch.Tensor]"
    reference_moved: tuple[str, ...]
    reference_gradients: tuple[str, ...]
    losses: tuple[Call, ...]
    scored: tuple[Call, ...]
    training: bool
    scores: FloatArray | None
    engine: FloatArray | None

    @property
    def changed(self) -> list[str]:
        """Names of the policy's tensors that the step changed."""
        return [name for name, value in self.before.items() if not value.equal(self.after[name])]


def batch(subject: Subject) -> Batch:
    """Rows of four lengths, padded on the declared side."""
    score = scorer(subject)
    rng = subject.rng("step")
    widest = max(LENGTHS)
    lengths = np.array(LENGTHS)[:, None]
    place = np.arange(widest)[None, :]
    mask = place >= widest - lengths if subject.declared.text("pad_side") == "left" else place < lengths
    if score.function.takes("segments"):
        mask = np.ones_like(mask)
    ids = np.where(mask, score.ids(rng, rows=len(LENGTHS), tokens=widest), 0)
    return Batch(ids=ids, mask=mask, advantages=np.array([1.0, -0.6, 0.8, -1.2]))


def trace(subject: Subject) -> Trace:
    """One plain step, made once a verification.

    Raises:
        Unavailable: there is no step that can be made.
        RaisedError: the step raised an error of its own.
    """
    found = subject.remember("step", lambda: _caught(subject))
    if isinstance(found, Exception):
        raise found
    assert isinstance(found, Trace)
    return found


def moved_trace(subject: Subject) -> Trace:
    """One step from a policy that was moved at random before, away from the reference; made once a verification.

    Raises:
        Unavailable, RaisedError: as for `trace`.
    """
    trace(subject)
    found = subject.remember("step.moved", lambda: step(subject, batch(subject), nudge=0.3))
    assert isinstance(found, Trace)
    return found


def step(
    subject: Subject,
    given: Batch,
    *,
    nudge: float = 0.0,
    nudge_reference: float = 0.0,
    warm: bool = False,
    train: bool = True,
) -> Trace:
    """One step from the weights as they are (plus `nudge` of noise), taken back afterwards.

    Args:
        given: the batch.
        nudge: relative size of a random change of the policy's trainable tensors before the step.
        nudge_reference: the same of all of the reference's tensors.
        warm: make a step first and put the weights, but not the gradients, back.
        train: mode of the policy before the step.
    """
    import torch

    model, score = policy(subject), scorer(subject)
    function = _settled(subject, given)
    pipeline = subject.pipeline
    with restored(model, pipeline.ref_model, pipeline.optimizer, pipeline.train_step, pipeline.engine_logprobs):
        for parameter in model.parameters():
            parameter.grad = None
        if nudge:
            shaken(model, nudge)
        if nudge_reference and pipeline.ref_model is not None:
            shaken(pipeline.ref_model, nudge_reference, frozen=True)
        if warm:
            kept = copied(model)
            with restored(pipeline.optimizer):
                _call(subject, function, replace(given, advantages=-given.advantages[::-1]), score)
            gradients = {name: p.grad for name, p in model.named_parameters()}
            with torch.no_grad():
                for name, value in model.state_dict(keep_vars=True).items():
                    value.copy_(kept[name])
            for name, parameter in model.named_parameters():
                parameter.grad = gradients[name]
        return _observed(subject, function, given, score, train=train)


def shaken(module: "torch.nn.Module", size: float, *, frozen: bool = False) -> None:
    """Random relative changes of a module's trainable tensors (or of all), the same every time."""
    import torch

    generator = torch.Generator().manual_seed(17)
    with torch.no_grad():
        for parameter in module.parameters():
            if (parameter.requires_grad or frozen) and parameter.is_floating_point():
                noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float32).to(parameter)
                parameter.add_(size * (parameter.abs().mean() + 0.1) * noise)


def _observed(subject: Subject, function: Function, given: Batch, score: Scorer, *, train: bool) -> Trace:
    model, reference = policy(subject), subject.pipeline.ref_model
    model.train(train)
    before = copied(model)
    reference_before = copied(reference) if hasattr(reference, "state_dict") else {}
    for parameter in reference.parameters() if hasattr(reference, "parameters") else ():
        parameter.grad = None
    losses: list[Call] = []
    scored: list[Call] = []
    with ExitStack() as listening:
        for slot, heard in (("loss", losses), ("score", scored)):
            if subject.has(slot):
                listening.enter_context(overheard(subject.pipeline.train_step, subject.bound(slot), heard))
        _call(subject, function, given, score)
    training = model.training
    apart = reference is not None and reference is not model and hasattr(reference, "named_parameters")
    return Trace(
        before=before,
        after=copied(model),
        reference_moved=tuple(moved(reference, reference_before)) if apart else (),
        reference_gradients=_gradients(model, reference) if apart else (),
        losses=tuple(losses),
        scored=tuple(call for call in scored if call.get("model") is model),
        training=training,
        scores=_scores(score, given.ids),
        engine=engine_scores(subject, given.ids) if subject.has("engine_logprobs") else None,
    )


def _gradients(model: "torch.nn.Module", reference: object) -> tuple[str, ...]:
    own = {id(parameter) for parameter in model.parameters()}
    named = reference.named_parameters()  # type: ignore[attr-defined]  # the caller has looked
    return tuple(n for n, p in named if id(p) not in own and p.grad is not None and bool(p.grad.abs().max() > 0))


def _scores(score: Scorer, ids: IntArray) -> FloatArray:
    with quiet(score.model):
        return score(ids)


def _call(subject: Subject, function: Function, given: Batch, score: Scorer) -> None:
    import torch

    torch.manual_seed(5)
    function.whole(**_arguments(subject, function, given, score))


def _arguments(subject: Subject, function: Function, given: Batch, score: Scorer) -> dict[str, object]:
    pipeline = subject.pipeline
    values: dict[str, object] = {
        "model": pipeline.model,
        "optimizer": pipeline.optimizer,
        "ref_model": pipeline.ref_model,
        "ids": given.ids,
        "mask": given.mask,
        "advantages": given.advantages,
        "completion_tokens": given.ids.shape[1] - 1,
    }
    for role, module in (("old_logprobs", pipeline.model), ("ref_logprobs", pipeline.ref_model)):
        if function.takes(role):
            with quiet(module):
                scores = score.function(**score.arguments(given.ids, given.mask, model=module))
                values[role] = scores + given.old_shift if role == "old_logprobs" else scores
    own = {role: value for role, value in values.items() if function.takes(role)}
    absent = [role for role, value in own.items() if value is None]
    if absent:
        raise Unavailable(f"train_step takes {' and '.join(absent)}", tuple(absent))
    return own


def _settled(subject: Subject, given: Batch) -> Function:
    """The step with the form of arrays that it takes; tried on weights that are put back."""
    found = subject.remember("step.function", lambda: _negotiated(subject, given))
    assert isinstance(found, Function)
    return found


def _negotiated(subject: Subject, given: Batch) -> Function:
    import torch

    bound, score = subject.bound("train_step"), scorer(subject)
    pipeline = subject.pipeline
    wide = next((p.dtype == torch.float64 for p in policy(subject).parameters()), False)
    values = _arguments(subject, bound, given, score)
    first: RaisedError | None = None
    kinds: tuple[MaskKind, ...] = ("bool", "float", "int")
    for kind in kinds:
        convention = replace(_convention(score), mask=kind, single=not wide)
        candidate = replace(bound, convention=convention)
        with restored(pipeline.model, pipeline.ref_model, pipeline.optimizer, pipeline.train_step):
            try:
                candidate.whole(**values)
            except RaisedError as error:
                first = first or error
                continue
        return candidate
    assert first is not None  # three forms were tried
    if any(word in first.told.lower() for word in OURS):
        raise first
    raise Unavailable(f"train_step could not be made on a small batch: {first.told}"[:200])


def _convention(score: Scorer) -> Convention:
    convention = score.function.convention
    assert convention is not None  # a scorer has been called
    return convention


def _caught(subject: Subject) -> object:
    try:
        return step(subject, batch(subject))
    except (Unavailable, RaisedError) as reason:
        return reason


def on_mask(call: Call, role: str) -> FloatArray | None:
    """An argument of an overheard call on the valid tokens that are scored; None where it is absent."""
    value = call.get(role)
    if value is None:
        return None
    numbers = to_numpy(value)
    own = call.get("mask")
    seen = np.asarray(to_numpy(own)) > 0 if own is not None else np.ones(numbers.shape, dtype=bool)
    return numbers[seen] if seen.shape == numbers.shape else numbers.reshape(-1)
