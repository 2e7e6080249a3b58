"""Completions are sampled from the distribution whose log-probs are trained."""

from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

INFINITE = float("inf")
LIMITS = {
    "temperature": (0.0, INFINITE, "all samples of a group are the same completion"),
    "top_p": (0.0, 1.0, "it is a probability mass"),
    "top_k": (-2.0, INFINITE, "it is a count; 0 or -1 turns it off"),
    "min_p": (-1e-9, 1.0, "it is a probability"),
    "repetition_penalty": (0.0, INFINITE, "logits are divided by it"),
}
USUAL = {
    "temperature": (0.3, 1.5),
    "top_p": (0.9, 1.0),
    "top_k": (50.0, INFINITE),
    "min_p": (0.0, 0.05),
    "repetition_penalty": (0.999, 1.001),
}
CHECK = Check(
    id="V707",
    title="sampling parameters are in range and leave the distribution whole",
    formula="p_sampled(y) = softmax(z / T)[y], nothing cut off",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Sample at temperature 1 with top_p 1 and no top_k, min_p or repetition penalty, or divide the logits alike.",
    causes=("TRAIN_INFER_MISMATCH", "ENTROPY_COLLAPSE", "DUPLICATE_COMPLETIONS"),
)


def run(subject: Subject) -> Outcome:
    """Temperature, top_p, top_k, min_p and repetition penalty."""
    given = settings(subject)
    known = {name: value for name in LIMITS if (value := given.number(name)) is not None}
    if not known:
        return not_checkable("no sampling parameter is set", missing=("config.temperature",))
    for name, value in known.items():
        low, high, reason = LIMITS[name]
        if not low < value <= high:
            return failed(
                "config",
                f"{given.named(name)} is {value:g}: {reason}.",
                expected=f"above {low:g}, at most {high:g}",
                got=f"{value:g}",
                example=given.example(name),
            )
    for name, value in known.items():
        if (value < USUAL[name][0] or value > USUAL[name][1]) and not (name == "top_k" and value <= 0):
            return warned(
                "config",
                f"{given.named(name)} is {value:g}: samples come from another distribution than the one "
                "whose log-probs are trained.",
                expected=f"{USUAL[name][0]:g} to {USUAL[name][1]:g}",
                got=f"{value:g}",
                example=given.example(name),
            )
    return passed()
