"""Values of scalar parameters: what the user said, else the parameter's own default, else the field's usual choice."""

import inspect
from collections.abc import Mapping

from rlprobe.verifier.declared import Declared

# Values for required scalars that nobody declared; each is the field's usual choice and is told in the report.
USUAL: Mapping[str, object] = {
    "group_size": 4,
    "advantage_epsilon": 1e-6,
    "temperature": 1.0,
    "clip_low": 0.2,
    "clip_high": 0.2,
    "clip": 0.2,
    "kl_coefficient": 0.04,
    "gamma": 1.0,
    "lam": 0.95,
    "dpo_beta": 0.1,
    "label_smoothing": 0.0,
    "entropy_coefficient": 0.0,
    "value_clip": 0.2,
    "value_coefficient": 0.5,
    "shift_mean": True,
}
_OFF = (None, 0, 0.0)


def constants_of(
    played: Mapping[str, str], parameters: list[inspect.Parameter], declared: Declared
) -> tuple[dict[str, object], dict[str, object]]:
    """Scalars: what the user said where the parameter has no default or an "off" one, else the parameter's own default.

    Args:
        played: role -> name of the parameter that plays it.
        parameters: of the function.
        declared: what the user said.
    Returns:
        Role -> value that no check varies, and those of them that neither the user nor a default gave.
    """
    defaults = {parameter.name: parameter.default for parameter in parameters}
    constants: dict[str, object] = {}
    assumed: dict[str, object] = {}
    for role, parameter in played.items():
        said = _said(role, declared)
        default = defaults.get(parameter, inspect.Parameter.empty)
        required = default is inspect.Parameter.empty
        if said is not None and (required or default in _OFF):
            constants[role] = said
        elif required and role in USUAL:
            constants[role] = assumed[role] = USUAL[role]
    return constants, assumed


def _said(role: str, declared: Declared) -> object:
    if role not in USUAL and role not in ("max_completion_tokens", "normalizer", "eos_id", "pad_id"):
        return None
    said = declared.get(role)
    if role in ("clip", "clip_low", "clip_high"):
        low, high = declared.clip()
        said = high if role == "clip_high" else low
    if role == "dpo_beta" and said is None:
        said = declared.get("kl_coefficient")
    return said
