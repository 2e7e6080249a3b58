"""A pattern for reasoning lets its dot match newlines."""

import ast
import re
from collections.abc import Iterator

from rlprobe.verifier.measure.reading import module_syntax
from rlprobe.verifier.measure.source import Hit, Piece, lint, named_call, names_in
from rlprobe.verifier.outcome import Check, Outcome
from rlprobe.verifier.subject import Subject

_TAGGED = re.compile(r"(?:</?\w+>.*\.[*+])|(?:\.[*+].*</?\w+>)")
CHECK = Check(
    id="V805",
    title="patterns for reasoning match newlines",
    formula="re.compile(..., re.DOTALL) where the text has lines",
    stage="source",
    category="string processing",
    needs=(),
    fix="Compile the pattern with re.DOTALL.",
    causes=("FORMAT_LOSS", "REWARD_CONSTANT"),
)


def run(subject: Subject) -> Outcome:
    """Patterns that name a tag and have a repeated dot, in the function or in its module."""
    return lint(subject, ("reward", "decode"), _found)


def _found(piece: Piece) -> Iterator[Hit]:
    module = module_syntax(piece.function)
    used = names_in(piece.tree) | {piece.function.__name__}
    places: list[ast.AST] = [piece.tree]
    if module is not None:
        places += [one for one in module.body if isinstance(one, ast.Assign) and names_in(one.targets[0]) & used]
    for place in places:
        for node in ast.walk(place):
            call = named_call(node, "match", "search", "fullmatch", "findall", "compile", "sub", "finditer", "split")
            if call is None or not call.args or not isinstance(call.args[0], ast.Constant):
                continue
            pattern = call.args[0].value
            if not isinstance(pattern, str) or not _TAGGED.search(pattern) or "(?s" in pattern:
                continue
            flags = "".join(ast.unparse(one) for one in (*call.args[1:], *(word.value for word in call.keywords)))
            if not any(flag in flags for flag in ("DOTALL", "re.S", "flags")) and "[\\s\\S]" not in pattern:
                yield call, f"the dot of {pattern!r:.60} does not match a newline"
