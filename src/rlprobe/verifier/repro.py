"""Python that a user pastes to see the failure himself."""

import numpy as np

from rlprobe.verifier.outcome import Outcome

LONGEST = 2000  # characters of one argument; longer ones are cut and say so


def snippet(outcome: Outcome, target: str) -> str:
    """A call of the function with the example's arguments by role, and what was expected; "" without an example."""
    if not outcome.example or outcome.status not in ("fail", "warn"):
        return ""
    module, _, name = target.partition(":")
    lines = ["import numpy as np"]
    if module and name and "<" not in name:
        lines.append(f"from {module} import {name.partition('.')[0]}")
    lines += [f"{role} = {_literal(value)}" for role, value in outcome.example.items()]
    arguments = ", ".join(outcome.example)
    called = name if name and "<" not in name else f"YOUR_{outcome.slot.partition(':')[0].upper()}"
    lines.append(f"print({called}({arguments}))  # arguments by role; hand arrays over as your function takes them")
    if outcome.expected:
        lines.append(f"# expected {outcome.expected}")
    if outcome.got:
        lines.append(f"# got      {outcome.got}")
    return "\n".join(lines) + "\n"


def _literal(value: object) -> str:
    if isinstance(value, np.ndarray):
        rounded = np.array2string(value, separator=", ", threshold=100_000, max_line_width=100_000, floatmode="unique")
        text = f"np.array({' '.join(rounded.split())})".replace("nan", "np.nan").replace("inf", "np.inf")
    else:
        text = repr(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + " ...  # cut"
