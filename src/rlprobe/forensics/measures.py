"""Names by which a person asks for a quantity, and the columns that stand for it, the best first."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

import pyarrow as pa

from rlprobe.forensics.expression import parse
from rlprobe.forensics.syntax import Expression, Name, Node
from rlprobe.forensics.tokens import ExpressionError

Kind = Literal["number", "text", "condition"]

MEASURES: Mapping[str, tuple[str, ...]] = {
    "length": ("completion_tokens", "length(completion)"),
    "ratio": ("ratio_max", "ratio_mean", "exp(logprob - old_logprob)"),
    "kl": ("kl", "logprob - reference_logprob"),
    "repetition": ("repetition", "repeated(completion)"),
    "logprob": ("logprob", "sampler_logprob"),
    "group": ("group", "prompt_id", "prompt"),
}
SORTABLE = ("reward", "advantage", "kl", "length", "logprob", "ratio", "repetition")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """What an expression may speak of: column -> kind, and which column stands for the reward.

    Attributes:
        kinds: kind of each column that can be compared.
        reward: the column that "reward" means: one reward function's where the user chose one.
    """

    kinds: Mapping[str, Kind]
    reward: str = "reward"

    def meaning(self, name: str) -> Node | None:
        """What a name stands for: a column, or the expression of a measure; None for an unknown name."""
        if name == "reward":
            members = [each for each in self.kinds if each.startswith("reward/")]
            only = self.reward not in self.kinds and len(members) == 1  # the one function's reward is the reward
            name = members[0] if only else self.reward
        for text in MEASURES.get(name, (name,)) if name not in self.kinds else (name,):
            if text in self.kinds:
                return Name(name=text, at=0)
            if text != name and text not in MEASURES:
                expression = parse(text, self.kinds)
                if expression.names() <= self.kinds.keys():
                    return expression.root
        return None

    def columns(self, expression: Expression) -> frozenset[str]:
        """The columns that an expression needs.

        Raises:
            ExpressionError: it speaks of something that the samples do not have.
        """
        needed: set[str] = set()
        for name in sorted(expression.names()):
            meaning = self.meaning(name)
            if meaning is None:
                raise ExpressionError(self.unknown(name), expression.text, max(0, expression.text.find(name)))
            needed |= Expression(text="", root=meaning).names()
        return frozenset(needed)

    def unknown(self, name: str) -> str:
        """The complaint about a name that stands for nothing."""
        if members := [each for each in self.kinds if each.startswith(f"{name}/")]:
            return f"expected a column, got {name!r}, which has members: {', '.join(members[:6])}. Name one."
        if name in MEASURES or name in SORTABLE:
            wanted = " or ".join(MEASURES.get(name, (name,)))
            return f"expected samples with {wanted}, got none. `rlprobe samples --columns` lists what there is."
        choices = [*self.kinds, *MEASURES]
        close = get_close_matches(name, choices, n=1)
        hint = f"The closest is {close[0]}." if close else "`rlprobe samples --columns` lists what there is."
        return f"expected a column of the samples, got {name[:60]!r}. {hint}"


def kind_of(arrow: pa.DataType) -> Kind | None:
    """The kind of a column; None for raw bytes and lists, which cannot be compared."""
    types = pa.types
    if types.is_boolean(arrow):
        return "condition"
    if types.is_integer(arrow) or types.is_floating(arrow):
        return "number"
    if types.is_dictionary(arrow):
        return kind_of(arrow.value_type)
    return "text" if types.is_string(arrow) or types.is_large_string(arrow) else None
