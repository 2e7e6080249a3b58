"""Dropout is off: the policy that is trained is the one that sampled."""

from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V711",
    title="dropout is off in training",
    formula="dropout = 0",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Set every dropout of the model and the adapter to 0 (disable_dropout).",
    causes=("RATIO_NOT_ONE", "TRAIN_INFER_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """Rates in the configuration, then in the modules of the model."""
    given = settings(subject)
    for name, value in given.raw.items():
        rate = value if isinstance(value, int | float) and not isinstance(value, bool) else None
        if rate is None or not name.rpartition(".")[2].endswith(("dropout", "pdrop")):
            continue
        if rate < 0 or rate >= 1:
            return failed(
                "config",
                f"{name} is {rate:g}: it is a probability below 1.",
                expected="0",
                got=f"{rate:g}",
                example={name: rate},
            )
        if rate > 0 and given.raw.get("disable_dropout") is not True:
            return _told("config", f"{name} is {rate:g}", rate, {name: rate})
    modules = getattr(subject.pipeline.model, "named_modules", None)
    if not callable(modules):
        return passed() if given.raw else not_checkable("no model was handed over", missing=("model",))
    for name, module in modules():
        rate = getattr(module, "p", None)
        if "dropout" in type(module).__name__.lower() and isinstance(rate, float) and rate > 0:
            if given.raw.get("disable_dropout") is True:
                return _told("model", f"disable_dropout is set, and {name} drops {rate:g}", rate, {"module": name})
            return _told("model", f"{name} drops {rate:g}", rate, {"module": name})
    return passed()


def _told(slot: str, what: str, rate: float, example: dict[str, object]) -> Outcome:
    return warned(
        slot,
        f"{what}: log-probs of one completion differ from forward to forward, and the first ratio is not 1.",
        expected="0",
        got=f"{rate:g}",
        example=example,
    )
