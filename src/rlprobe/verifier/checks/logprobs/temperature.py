"""Logits are divided by the temperature before the softmax: the scored distribution is the sampled one."""

import numpy as np

from rlprobe.recording.run import FloatArray
from rlprobe.verifier.measure.logprobs import TOLERANCE, LogProbs, distance, drawn, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, passed, warned
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V307",
    title="log-probs are those of the sampling temperature",
    formula="log p = log_softmax(z / T)",
    stage="logprobs",
    category="constants",
    needs=("logprobs",),
    fix="Divide the logits by the temperature once, before log-softmax, in every path that scores.",
    causes=("DECODE_MISMATCH", "RATIO_NOT_ONE", "TRAIN_INFER_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """Temperatures 0.5 and 2 where one can be handed over; else the one inside against the declared one."""
    function = measured(subject)
    logits, ids = drawn(subject, CHECK.id)
    if not function.function.takes("temperature"):
        return _inside(subject, function)
    for temperature in (0.5, 2.0):
        found, wanted = function(logits, ids, temperature), function.expected(logits, ids, temperature)
        gap = distance(found, wanted)
        if gap > TOLERANCE / min(temperature, 1.0):
            plain = function.expected(logits, ids)
            mistakes: dict[str, FloatArray] = {
                "temperature ignored": plain,
                "log-probs divided instead of logits": plain / temperature,
                "multiplied instead of divided": function.expected(logits, ids, 1.0 / temperature),
                "applied twice": function.expected(logits, ids, temperature**2),
            }
            return failed(
                "logprobs",
                f"At temperature {temperature:g}, log-probs are off by up to {gap:.3g} nats.",
                expected=shown(wanted),
                got=shown(found),
                example=function.arguments(logits, ids, temperature),
                fingerprint=next((told for told, one in mistakes.items() if distance(found, one) < TOLERANCE), ""),
            )
    return passed()


def _inside(subject: Subject, function: LogProbs) -> Outcome:
    declared = subject.declared.number("temperature")
    found = function.temperature
    if declared is None or np.isclose(found, declared, rtol=1e-3):
        return passed(f"temperature {found:.4g}")
    told = f"Log-probs are those of temperature {found:.4g}; {declared:g} is declared."
    raw = subject.declared.get("raw_logits")
    plain = np.isclose(found, 1.0, rtol=1e-3)
    if plain and raw is False:
        return passed("temperature 1, of logits that are divided before")
    if plain and raw is None and "temperature" not in subject.declared.declarations:
        return warned(
            "logprobs", told + " Right only if the logits that come in are divided already.",
            expected=f"{declared:g}", got=f"{found:.4g}", fingerprint="temperature ignored",
        )  # fmt: skip
    return failed(
        "logprobs",
        told,
        expected=f"{declared:g}",
        got=f"{found:.4g}",
        fingerprint=_mistake(found, declared),
        fix="Divide the logits by the temperature; declare raw_logits=False where that is done before the call."
        if plain
        else "",
    )


def _mistake(found: float, declared: float) -> str:
    if np.isclose(found, 1.0, rtol=1e-3):
        return "temperature ignored"
    return "multiplied instead of divided" if np.isclose(found * declared, 1.0, rtol=1e-3) else ""
