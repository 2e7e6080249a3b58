"""docs/reassurances.md, made of the registry: `python -m rlprobe.doctor.reassurance_page > docs/reassurances.md`."""

import re
import sys

from rlprobe.doctor.catalog import normals
from rlprobe.doctor.normal import Normal

_HEAD = """# Looks alarming, is normal

Each of these has made people stop a sound run. rlprobe tells one only where the look-alike is there *and* this run
holds the evidence that makes it normal; a finding of one of the signatures named under it takes it back, and none is
told beside a critical finding. A page shows at most three, those that stop people most often first. Where … stands,
the number of the run is told.
"""
_PLACEHOLDER = re.compile(r"\{\w+\}")


def page() -> str:
    """The page as Markdown."""
    order = sorted((one.normal for one in normals()), key=lambda normal: (-normal.weight, normal.id))
    return "\n".join([_HEAD, *(_section(normal) for normal in order)])


def find(name: str) -> Normal | None:
    """The reassurance of an id, whatever its case; None when there is none."""
    wanted = name.upper().replace("-", "_")
    return next((one.normal for one in normals() if one.normal.id == wanted), None)


def alone(normal: Normal) -> str:
    """One reassurance as a page of its own."""
    sections = [f"## {heading}\n\n{text}" for heading, text in _parts(normal).items()]
    return "\n\n".join([f"# {normal.id}", f"{normal.title}.", *sections]) + "\n"


def _section(normal: Normal) -> str:
    lines = [f"- {heading}: {text}" for heading, text in _parts(normal).items()]
    return "\n".join([f"## {normal.title} (`{normal.id}`)\n", *lines]) + "\n"


def _parts(normal: Normal) -> dict[str, str]:
    """Heading -> text."""
    text = f"{normal.explanation} {normal.also}".strip()
    metrics = ", ".join(f"`{name}`" for name in normal.requires).replace("|", "` or `").replace("/`", "`")
    return {
        "What you see": normal.worry,
        "What must be there": normal.asks,
        "What is said": _PLACEHOLDER.sub("…", text),
        "What must be logged": metrics,
        "Taken back by": ", ".join(f"`{id}`" for id in sorted(normal.unless)) or "no finding",
    }


if __name__ == "__main__":
    sys.stdout.write(page())
