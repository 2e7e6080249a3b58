"""A score is the log-softmax of the logits that the model gave for it, at the temperature of sampling."""

from rlprobe.recording.run import FloatArray, IntArray
from rlprobe.verifier.measure.logprobs import distance
from rlprobe.verifier.measure.scoring import quiet, scorer, seen_logits
from rlprobe.verifier.oracles.logprobs import chosen
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V326",
    title="scores are the log-softmax of the model's logits",
    formula="score(y_t) = log_softmax(model(x)_{t-1} / T)[y_t]",
    stage="logprobs",
    category="constants",
    needs=("model", "score"),
    fix="Take logits[:, :-1] / temperature, log-softmax over the vocabulary, gather ids[:, 1:].",
    causes=("RATIO_NOT_ONE", "DECODE_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """Logits are read from the model while it scores; temperature 1, another one, and the declared one."""
    score = scorer(subject)
    ids = score.ids(subject.rng(CHECK.id))
    takes = score.function.takes("temperature")
    declared = subject.declared.number("temperature")
    for temperature in (1.0, 0.5, 2.0) if takes else (declared or 1.0,):
        values = score.arguments(ids, temperature=temperature)
        with quiet(score.model):
            logits = seen_logits(score, values)
            found = score.inner(score.function(**values), ids.shape[1])
        if logits is None or logits.shape[:2] not in (ids.shape, (len(ids), ids.shape[1] - 1)):
            return not_checkable("the model's logits cannot be read while it scores")
        wanted = _wanted(logits, ids, temperature)
        gap = distance(found, wanted)
        if gap > score.tolerance / min(temperature, 1.0):
            return failed(
                "score",
                f"At temperature {temperature:g}, scores are off by up to {gap:.3g} nats.",
                expected=shown(wanted),
                got=shown(found),
                example={"ids": ids, "temperature": temperature},
                fingerprint=_fingerprint(logits, ids, found, temperature),
            )
    return passed()


def _wanted(logits: FloatArray, ids: IntArray, temperature: float) -> FloatArray:
    before = logits[:, : ids.shape[1] - 1]
    return chosen(before, ids[:, 1:], temperature)


def _fingerprint(logits: FloatArray, ids: IntArray, found: FloatArray, temperature: float) -> str:
    plain = _wanted(logits, ids, 1.0)
    mistakes = {
        "negated": -_wanted(logits, ids, temperature),
        "temperature ignored": plain,
        "log-probs divided instead of logits": plain / temperature,
        "multiplied instead of divided": _wanted(logits, ids, 1.0 / temperature),
    }
    if logits.shape[1] == ids.shape[1]:
        mistakes["unshifted: the logits have seen the token"] = chosen(logits[:, 1:], ids[:, 1:], temperature)
        mistakes["the id is the one before"] = chosen(logits[:, :-1], ids[:, :-1], temperature)
    return next((told for told, one in mistakes.items() if distance(found, one) < 1e-3), "")
