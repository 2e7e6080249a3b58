"""One number format is chosen, and steps are not lost in it."""

from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed, warned
from rlprobe.verifier.subject import Subject

SPACING = {"bfloat16": 2.0**-8, "float16": 2.0**-11}  # relative distance of neighbouring numbers
TYPICAL = 0.02  # standard deviation of initial weights
CHECK = Check(
    id="V709",
    title="steps are not lost in the number format",
    formula="|Δw| > spacing of the number format at |w|",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Keep weights in float32 and train with bf16 autocast, or use an optimizer with master weights.",
    causes=("NO_WEIGHT_UPDATE", "NUMERIC_NAN", "TRAIN_INFER_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """The switches, then the spacing of the weights' own format against the learning rate."""
    given = settings(subject)
    half, brain = given.raw.get("fp16"), given.raw.get("bf16")
    if half is True and brain is True:
        return failed(
            "config",
            "fp16 and bf16 are both on.",
            expected="one of them",
            got="both",
            example={"fp16": True, "bf16": True},
        )
    rate = given.number("learning_rate")
    format_name = _format(subject.pipeline.model)
    if rate is not None and format_name in SPACING:
        lost = SPACING[format_name] * TYPICAL
        if rate < lost:
            return warned(
                "model",
                f"The weights are {format_name}: the number next to {TYPICAL:g} is {lost:.1g} away, "
                f"and a step of Adam is {rate:g}.",
                expected=f"steps above {lost:.1g}",
                got=f"{rate:g}",
                example={**given.example("learning_rate"), "dtype": format_name},
            )
    if half is True:
        return warned(
            "config",
            "fp16 is on: gradients above 65504 overflow.",
            expected="bf16",
            got="fp16",
            example={"fp16": True},
        )
    if half is None and brain is None and not format_name:
        return not_checkable("no number format is set", missing=("config.bf16", "model"))
    return passed()


def _format(model: object) -> str:
    parameters = getattr(model, "parameters", None)
    if not callable(parameters):
        return ""
    formats = {str(one.dtype).removeprefix("torch.") for one in parameters() if one.requires_grad}
    return formats.pop() if len(formats) == 1 else ""
