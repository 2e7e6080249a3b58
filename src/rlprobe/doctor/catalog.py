"""Every signature there is: found by walking the folders, and by the entry point group `rlprobe.signatures`."""

import difflib
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module, resources
from pathlib import Path
from types import ModuleType

from rlprobe.doctor import reassurances, signatures
from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.offers import offers
from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Judgement, Signature
from rlprobe.recording.settings import setting

ENTRY_POINTS = "rlprobe.signatures"
_SETTING = re.compile(r"\{setting:(\w+)\}")
LONGEST = 120  # characters of another package's error in a note
Judge = Callable[[Rows], Judgement | tuple[Judgement, ...]]


class UnknownSignature(ValueError):
    """No signature has that id or alias; the message names the closest ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One signature with its judge and the module that holds both."""

    signature: Signature
    judge: Judge
    module: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalEntry:
    """One reassurance with its judge."""

    normal: Normal
    judge: Callable[[Rows], Normality]


@cache
def normals() -> tuple[NormalEntry, ...]:
    """Every reassurance, ordered by id."""
    modules = [
        import_module(f"{reassurances.__name__}.{found.name}") for found in pkgutil.iter_modules(reassurances.__path__)
    ]
    found = [NormalEntry(normal=module.NORMAL, judge=module.judge) for module in modules]
    return tuple(sorted(found, key=lambda one: one.normal.id))


def entries() -> tuple[Entry, ...]:
    """Every signature, ordered by stage folder and id; the order of hypotheses is a constant of the catalog."""
    return _found().entries


def broken() -> tuple[str, ...]:
    """One sentence for each signature of another package that could not be loaded."""
    return _found().broken


def entry(name: str) -> Entry:
    """The signature of an id or alias, whatever its case.

    Raises:
        UnknownSignature: there is none.
    """
    wanted = name.upper().replace("-", "_")
    for candidate in entries():
        if wanted == candidate.signature.id or wanted in candidate.signature.aliases:
            return candidate
    close = difflib.get_close_matches(wanted, [e.signature.id for e in entries()], n=3, cutoff=0.4)
    hint = f"Closest: {', '.join(close)}." if close else "See `rlprobe explain --list`."
    raise UnknownSignature(f"explain: expected the id of a signature, got {name[:80]!r}. {hint}")


def page(name: str) -> str:
    """The catalog page of a signature as it is written, its thresholds and the names of settings filled in.

    Raises:
        UnknownSignature: there is no such signature.
    """
    found = entry(name)
    text = _written(found.module)
    if not text:  # another package's signature may come without a page
        return f"# {found.signature.id}\n\n{import_module(found.module).__doc__ or found.signature.title}\n"
    for threshold in found.signature.thresholds:
        text = text.replace("{" + threshold.name + "}", f"{threshold.value:g}")
    return _SETTING.sub(lambda named: setting(named[1]).spelled, text)


def _written(module: str) -> str:
    """What stands in the Markdown file beside a module; "" where there is none."""
    package, _, stem = module.rpartition(".")
    if package:
        beside = resources.files(package).joinpath(f"{stem}.md")
        return beside.read_text(encoding="utf-8") if beside.is_file() else ""
    alone = Path(import_module(module).__file__ or stem).with_suffix(".md")  # a module that lies in no package
    return alone.read_text(encoding="utf-8") if alone.is_file() else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    entries: tuple[Entry, ...]
    broken: tuple[str, ...]


@cache
def _found() -> _Found:
    found = [
        _entry(import_module(module.name))
        for module in pkgutil.walk_packages(signatures.__path__, signatures.__name__ + ".")
        if not module.ispkg
    ]
    broken = []
    for offered in offers(ENTRY_POINTS):
        try:
            foreign = _entry(import_module(offered))
            if any(known.signature.id == foreign.signature.id for known in found):
                raise ValueError(f"its id {foreign.signature.id} is taken")
            found.append(foreign)
        except Exception as error:  # another package's code: it may fail in any way and must not take the doctor along
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]
            broken.append(f"The signature {offered} of another package was left out: {reason}.")
    found.sort(key=lambda entry: (entry.signature.stage, entry.signature.id))
    return _Found(entries=tuple(found), broken=tuple(broken))


def _entry(module: ModuleType) -> Entry:
    return Entry(signature=module.SIGNATURE, judge=module.judge, module=module.__name__)
