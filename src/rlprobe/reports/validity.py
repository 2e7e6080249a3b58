"""What breaks the recording format in a directory, as lines or as JSON."""

from collections.abc import Mapping, Sequence

from rlprobe.recording.validate import Problem
from rlprobe.reports.format import counted, plain


def render(source: str, problems: Sequence[Problem], *, repaired: str | None = None) -> str:
    """One line a problem, then what was made of it."""
    lines = [f"{plain(problem.where)}: {plain(problem.text)} ({plain(problem.id)})" for problem in problems]
    told = f"breaks the format in {counted(len(problems), 'place')}" if problems else "keeps to the format"
    lines.append(f"{plain(source)} {told}.")
    if repaired is not None:
        lines.append(f"{plain(repaired)} holds everything that could be read.")
    return "\n".join(lines) + "\n"


def document(source: str, problems: Sequence[Problem]) -> Mapping[str, object]:
    """The problems as a tree for JSON."""
    listed = [{"id": problem.id, "where": problem.where, "text": problem.text} for problem in problems]
    return {"schema": "rlprobe.validity/1", "source": source, "valid": not problems, "problems": listed}
