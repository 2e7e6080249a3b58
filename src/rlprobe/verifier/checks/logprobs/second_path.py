"""Two paths to the same log-probs (fused and plain, chunked and whole) agree, at every temperature."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.logprobs import TOLERANCE, LogProbs, distance, drawn, measure, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V314",
    title="both implementations of the log-probs agree",
    formula="first(z, y) = second(z, y)",
    stage="logprobs",
    category="configuration",
    needs=("logprobs|entropy",),
    fix="Bring the second path to the first one's numbers: temperature, shift, normaliser, precision.",
    causes=("RATIO_NOT_ONE", "TRAIN_INFER_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """Random, large and padded logits through both; the layouts may differ."""
    given = [slot for slot in ("logprobs", "entropy") if slot in subject.pipeline.alternatives]
    if not given:
        return not_applicable("no second implementation was handed over")
    if "entropy" in given:
        outcome = _entropies(subject)
        if outcome.status != "pass":
            return outcome
    return _paths(subject) if "logprobs" in given else passed()


def _paths(subject: Subject) -> Outcome:
    first, second = measured(subject), measure(subject, subject.alternative("logprobs"))
    logits, ids = drawn(subject, CHECK.id)
    for temperature in (1.0, 0.5):
        for scale in (1.0, 50.0):
            expected = _inner(first, first(scale * logits, ids, temperature))
            found = _inner(second, second(scale * logits, ids, temperature))
            if first.layout == "aligned" and second.layout != "aligned":
                return passed("the two have different layouts")
            if distance(found, expected) > TOLERANCE * scale:
                return failed(
                    "alternatives:logprobs",
                    f"The second implementation differs by up to {distance(found, expected):.3g} nats"
                    f" at temperature {temperature:g}.",
                    expected=shown(expected),
                    got=shown(found),
                    example=second.arguments(scale * logits, ids, temperature),
                )
    return passed()


def _inner(function: LogProbs, found: FloatArray) -> FloatArray:
    """The columns that predict something."""
    return {"zero_first": found[:, 1:], "zero_last": found[:, :-1]}.get(function.layout, found)


def _entropies(subject: Subject) -> Outcome:
    first, second = subject.function("entropy"), subject.alternative("entropy")
    logits, ids = drawn(subject, CHECK.id)
    given = {"logits": logits, "mask": np.ones(ids.shape, dtype=bool)}
    expected = first(**{role: one for role, one in given.items() if first.takes(role)})
    found = second(**{role: one for role, one in given.items() if second.takes(role)})
    if distance(found, expected) > TOLERANCE:
        return failed(
            "alternatives:entropy",
            f"The second implementation differs by up to {distance(found, expected):.3g} nats.",
            expected=shown(expected),
            got=shown(found),
            example=given,
        )
    return passed()
