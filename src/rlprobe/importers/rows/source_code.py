"""Settings in source code: the literal keywords of a call such as `GRPOConfig(...)`, parsed and never run."""

import ast
from typing import Final

from rlprobe.importers.rows.configuration import kept

_MAX_SOURCE: Final = 1 << 18  # characters of one cell
_NAMES: Final = ("Config", "Arguments", "Args", "Namespace")
_NOT_TRAINING: Final = ("LoraConfig", "BitsAndBytesConfig", "AutoConfig", "PeftConfig", "GenerationConfig")


def configuration_in(source: str) -> dict[str, object]:
    """The keywords of every training configuration that a piece of Python makes; the later one wins."""
    if len(source) > _MAX_SOURCE or not any(f"{name}(" in source for name in _NAMES):
        return {}
    python = "\n".join("pass" if line.lstrip()[:1] in ("!", "%") else line for line in source.split("\n"))
    try:
        tree = ast.parse(python)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, object] = {}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and _is_training(_name_of(call.func)):
            found.update((each.arg, _constant(each.value)) for each in call.keywords if each.arg is not None)
    return kept(found)


def _is_training(name: str) -> bool:
    return name.endswith(_NAMES) and name not in _NOT_TRAINING


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _constant(node: ast.expr) -> object:
    """The value of a literal number, text or flag; None for any other expression."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _constant(node.operand)
        return -value if isinstance(value, int | float) else None
    return node.value if isinstance(node, ast.Constant) else None
