"""What an installation of the skill did, file by file."""

import shlex
from collections.abc import Mapping, Sequence

from rlprobe.reports import format as say
from rlprobe.skill.install import Step


def render(steps: Sequence[Step]) -> str:
    """A line a file, and one that tells what to do where files were kept."""
    lines = [f"{step.did:<10}{say.plain(step.path)}" for step in steps]
    kept = sum(step.did == "kept" for step in steps)
    if kept:
        lines.append(
            f"{say.counted(kept, 'file')} kept as found: --force replaces what somebody changed, links excepted."
        )
    return "\n".join(lines) + "\n"


def document(steps: Sequence[Step], where: Sequence[str] = ()) -> Mapping[str, object]:
    """The same as a tree for JSON; `where` are the words that named the folder."""
    files = [{"path": step.path, "did": step.did} for step in steps]
    kept = any(step.did == "kept" for step in steps)
    again = shlex.join(["rlprobe", "skill", "install", "--force", *where])
    return {"schema": "rlprobe.skill/1", "files": files, "next": [again] if kept else []}
