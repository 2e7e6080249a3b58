"""Copy the skill into the folders in which tools look for skills. What somebody has changed there stays as it is."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rlprobe.skill import bundle

SHARED = ".agents"  # read by most tools
OTHERS = (".claude", ".cursor", ".gemini", ".github")  # read by one tool each
RECORD = ".rlprobe-skill.json"  # beside SKILL.md: what was written, so that a later change by hand is told
Did = Literal["new", "updated", "unchanged", "kept", "removed"]


class Refused(ValueError):
    """The skill cannot be put there; the message is one line that says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What was done with one file: written anew, brought up to date, left as it was, kept because somebody changed it,
    or removed because the skill no longer has it."""

    path: Path
    did: Did


def named(folder: str) -> Path:
    """The folder of a word from the command line, with `~` and `~user` as a shell would have them.

    Raises:
        Refused: that user has no home folder.
    """
    try:
        return Path(folder).expanduser()
    except RuntimeError as error:
        raise Refused(f"{folder}: expected a user with a home folder, got none. Write the folder out.") from error


def home() -> Path:
    """The user's home folder.

    Raises:
        Refused: there is none, or the variable HOME is empty or relative, which would be any folder at all.
    """
    said = os.environ.get("HOME", "/")
    if not os.path.isabs(said):
        raise Refused(f"HOME: expected a folder's whole path, got {said[:80]!r}. Name a folder of skills with --dir.")
    return named("~")


def folders(root: Path) -> tuple[Path, ...]:
    """The skill folders of a project or of a home: the shared one, and those of tools that are in use there.

    A tool is in use where it has a folder for skills; Claude Code, which reads no other, where it has a folder at all.
    """
    used = [name for name in OTHERS if (root / name / ("" if name == ".claude" else "skills")).is_dir()]
    return tuple(root / name / "skills" for name in (SHARED, *used))


def inside(folder: Path, root: Path) -> Path:
    """The folder, unless links lead it out of `root`.

    Raises:
        Refused: they do.
    """
    if folder.resolve().is_relative_to(root.resolve()):
        return folder
    raise Refused(f"{folder}: expected a folder under {root}, got a link out of it. Name the folder with --dir.")


def install(skills: Path, *, version: str, force: bool = False) -> tuple[Step, ...]:
    """Put the skill into a folder of skills; where its own folder is a link already, that is kept as it is.

    Args:
        skills: the folder in which each skill has a folder of its own; made where it is missing.
        version: of the package, kept in the record of what was written.
        force: whether files that somebody has changed are replaced as well.

    Raises:
        Refused: the skill's folder is a file, a folder in it a link or a file, or a file in it none.
        OSError: it cannot be written.
    """
    target = skills / bundle.NAME
    if target.is_symlink():  # tools that look into installed packages make such links
        return (Step(path=target, did="kept"),)
    wanted = {name: (bundle.FOLDER / name).read_bytes() for name in bundle.files()}
    for folder in {target, *((target / name).parent for name in wanted)}:
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise Refused(f"{folder}: expected a folder, got a link or a file. Remove it, or name another with --dir.")
    for path in (target / RECORD, *(target / name for name in wanted)):
        if path.exists() and not path.is_file():  # a pipe would be read for ever
            raise Refused(f"{path}: expected a file, got something else. Remove it, or name another folder with --dir.")
    written = _written(target / RECORD)
    steps = [_put(target / name, content, written.get(name), force=force) for name, content in wanted.items()]
    steps += [_drop(target / name, told) for name, told in written.items() if name not in wanted and _plain(name)]
    kept = {
        name: told for name, told in written.items() if any(s.did == "kept" and s.path == target / name for s in steps)
    }
    digests = {name: _digest(content) for name, content in wanted.items()} | kept
    _replace(target / RECORD, json.dumps({"version": version, "files": digests}, indent=1).encode() + b"\n")
    return tuple(steps)


def _put(path: Path, content: bytes, told: str | None, *, force: bool) -> Step:
    if path.is_symlink():
        return Step(path=path, did="kept")
    if not path.exists():
        _replace(path, content)
        return Step(path=path, did="new")
    found = path.read_bytes()
    if found == content:
        return Step(path=path, did="unchanged")
    if _digest(found) != told and not force:
        return Step(path=path, did="kept")
    _replace(path, content)
    return Step(path=path, did="updated")


def _drop(path: Path, told: str) -> Step:
    """Remove a file of an older version of the skill, as long as it is the one that was written."""
    if path.is_symlink() or not path.is_file() or _digest(path.read_bytes()) != told:
        return Step(path=path, did="kept")
    path.unlink()
    return Step(path=path, did="removed")


def _written(record: Path) -> Mapping[str, str]:
    """Digest by name of what an earlier installation wrote; empty where that cannot be told."""
    try:
        told = json.loads(record.read_bytes())
        return {str(name): str(digest) for name, digest in told["files"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _plain(name: str) -> bool:
    """Whether a name from a record stays in the skill's folder."""
    return not os.path.isabs(name) and ".." not in Path(name).parts


def _replace(path: Path, content: bytes) -> None:
    """Put a file in place as a whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        beside.write_bytes(content)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
