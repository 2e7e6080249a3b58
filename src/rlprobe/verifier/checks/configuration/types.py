"""Settings have the type that they are used as: numbers are numbers, switches are switches."""

from rlprobe.verifier.measure.settings import settings
from rlprobe.verifier.outcome import Check, Outcome, failed, not_checkable, passed
from rlprobe.verifier.subject import Subject

NUMBERS = frozenset(
    (
        *(
            "learning_rate",
            "kl_coefficient",
            "clip",
            "clip_low",
            "clip_high",
            "temperature",
            "group_size",
            "gamma",
            "lam",
        ),
        *(
            "advantage_epsilon",
            "max_completion_tokens",
            "inner_steps",
            "top_p",
            "top_k",
            "max_grad_norm",
            "warmup_ratio",
        ),
    )
)
SWITCHES = frozenset(
    (
        *("mask_truncated_completions", "mask_truncated", "bf16", "fp16", "sync_ref_model", "disable_dropout"),
        *("use_kl_loss", "norm_adv_by_std_in_grpo", "scale_rewards", "normalize_advantages", "gradient_checkpointing"),
    )
)
NO = ("false", "no", "off", "0")
CHECK = Check(
    id="V720",
    title="settings have the type that they are used as",
    formula="type(setting) = type that the code uses",
    stage="configuration",
    category="configuration",
    needs=(),
    fix="Write 1.0e-6 instead of 1e-6 in YAML, and false without quotes.",
    causes=("CONFIG_MISUSE",),
)


def run(subject: Subject) -> Outcome:
    """Text where a number or a switch is meant."""
    given = settings(subject)
    if not given.raw:
        return not_checkable("no configuration was handed over", missing=("config",))
    for path, value in given.raw.items():
        if not isinstance(value, str):
            continue
        name = next((canonical for canonical, spelt in given.spelt.items() if spelt == path), "")
        if name in NUMBERS and _is_number(value):
            return _told(path, value, "is text, not a number", f"{float(value):g}")
        last = path.rpartition(".")[2]
        if value.strip().lower() in NO and (last in SWITCHES or name in SWITCHES):
            return _told(path, value, "is text, which counts as true", "False")
    return passed()


def _told(path: str, value: str, what: str, expected: str) -> Outcome:
    return failed(
        "config",
        f"{path} is {value!r}: it {what}.",
        expected=expected,
        got=repr(value),
        example={path: value},
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
