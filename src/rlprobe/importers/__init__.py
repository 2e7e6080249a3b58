"""Importers: one module a foreign format, each yielding the feed that a recording yields.

A module of this package with a `NAME` is a format: `EXPECTS` says in a few words what it reads, `sniff(path, head)`
recognises it by its content, `read(path, keys, run)` gives its feed. `rows` and `keymaps` are what they share.
A format that takes whatever looks like rows has `GENERIC = True` and is asked after the others; one with
`BINARY = True` is shown a file's own bytes. `folders` finds the runs in a folder that is none itself.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Protocol, cast

from rlprobe.recording.run import Feed


class Importer(Protocol):
    """What a format's module offers."""

    NAME: str
    EXPECTS: str

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether a file that begins with these bytes (UTF-8, decompressed) is of this format; a folder has none."""
        ...

    def read(self, path: Path, keys: Mapping[str, str] | None = None, run: int | None = None) -> Feed:
        """The feed of the file."""
        ...


@cache
def importers() -> tuple[Importer, ...]:
    """Every format, those of one writer before the generic ones; the first that recognises a source reads it."""
    modules = [import_module(f"{__name__}.{info.name}") for info in iter_modules(__path__) if not info.ispkg]
    return tuple(
        cast(Importer, module)
        for module in sorted(modules, key=lambda each: (getattr(each, "GENERIC", False), each.__name__))
    )


def reader_of(path: Path, raw: bytes, head: bytes) -> Importer | None:
    """The format that recognises a file by its first bytes, as they are and as text; None when none does."""
    for importer in importers():
        if importer.sniff(path, raw if getattr(importer, "BINARY", False) else head):
            return importer
    return None


def reader_of_folder(path: Path) -> Importer | None:
    """The format of which the folder is one run; None when it is none, or cannot be looked into."""
    try:
        return next((importer for importer in importers() if importer.sniff(path, b"")), None)
    except OSError:
        return None
