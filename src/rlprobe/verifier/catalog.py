"""Every check there is, found by walking the folders."""

import difflib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from rlprobe.verifier import checks
from rlprobe.verifier.outcome import STAGES, Check, Outcome
from rlprobe.verifier.subject import Subject


class UnknownCheck(ValueError):
    """No check has that id; the message names the closest ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One check with the function that runs it and the module that holds both."""

    check: Check
    run: Callable[[Subject], Outcome]
    module: str
    invariant: str


@cache
def entries() -> tuple[Entry, ...]:
    """Every check, stage by stage in the order in which stages feed each other, by id within a stage."""
    found = []
    for module in pkgutil.walk_packages(checks.__path__, checks.__name__ + "."):
        if module.ispkg:
            continue
        loaded = import_module(module.name)
        invariant = (loaded.__doc__ or "").strip()
        found.append(Entry(check=loaded.CHECK, run=loaded.run, module=module.name, invariant=invariant))
    found.sort(key=lambda entry: (STAGES.index(entry.check.stage), entry.check.id))
    return tuple(found)


def entry(name: str) -> Entry:
    """The check of an id, whatever its case.

    Raises:
        UnknownCheck: there is none.
    """
    wanted = name.upper()
    for candidate in entries():
        if candidate.check.id == wanted:
            return candidate
    close = difflib.get_close_matches(wanted, [one.check.id for one in entries()], n=3, cutoff=0.4)
    hint = f"Closest: {', '.join(close)}." if close else "See `rlprobe verify --list`."
    raise UnknownCheck(f"expected the id of a check, got {name[:80]!r}. {hint}")


def is_id(name: str) -> bool:
    """Whether the name has the form of a check's id: "V301"."""
    return name[:1].upper() == "V" and name[1:].isdecimal()


def chosen(only: str | None) -> tuple[Entry, ...]:
    """Checks by words with commas: beginnings of ids, stages, or a signature whose cause they confirm; None: all.

    Raises:
        UnknownCheck: a word matches nothing.
    """
    if only is None or only == "all":
        return entries()
    words = [word.strip() for word in only.split(",") if word.strip()]
    found: list[Entry] = []
    for word in words:
        matching = [one for one in entries() if _meant(one.check, word)]
        if not matching:
            entry(word)
        found += [one for one in matching if one not in found]
    return tuple(one for one in entries() if one in found)


def _meant(check: Check, word: str) -> bool:
    return check.stage == word.lower() or check.id.startswith(word.upper()) or word.upper() in check.causes
