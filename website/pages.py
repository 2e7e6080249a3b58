"""Pages of the site that are no file in docs/: the catalog, the guide, the Python reference, and pages of the root."""

import re
from pathlib import Path

from rlprobe.doctor import catalog
from rlprobe.reports import catalog_page
from rlprobe.reports.verification import STAGE_NAMES
from rlprobe.verifier import catalog as checks
from website import reference

ROOT = Path(__file__).resolve().parents[1]
SKILL = Path("src/rlprobe/.agents/skills/rl-post-training")

# Page of the site -> the file of the repository that it is made of.
COPIED = {
    "guide/index.md": SKILL / "SKILL.md",
    "guide/diagnostic-workflow.md": SKILL / "references" / "diagnostic-workflow.md",
    "guide/common-pitfalls.md": SKILL / "references" / "common-pitfalls.md",
    "benches.md": Path("bench/README.md"),
    "contributing.md": Path("CONTRIBUTING.md"),
    "changes.md": Path("CHANGELOG.md"),
}
# Programs and configurations of the repository that pages link to, shown as pages.
PROGRAMS = {
    **{f"examples/{path.name}.md": path.relative_to(ROOT) for path in sorted((ROOT / "examples").glob("*.*"))},
    "guide/adapters.md": SKILL / "scripts" / "adapters.py",
    "guide/verify_pipeline.md": SKILL / "scripts" / "verify_pipeline.py",
}
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def generated() -> dict[str, str]:
    """Path in the site -> Markdown."""
    pages = {path: _FRONT_MATTER.sub("", _read(source)) for path, source in COPIED.items()}
    for path, source in PROGRAMS.items():
        language = {".py": "python", ".yaml": "yaml", ".sh": "sh"}.get(source.suffix, "text")
        pages[path] = f"# {source.name}\n\n```{language}\n{_read(source)}```\n"
    pages["reference/python.md"] = reference.page()
    pages["catalog/index.md"] = index()
    for id in catalog_page.ids():
        pages[f"catalog/{id}.md"] = catalog_page.page(id)[1]
    return pages


def sources() -> dict[str, str]:
    """File of the repository -> the page that stands for it in the site."""
    return {str(source): path for path, source in {**COPIED, **PROGRAMS}.items()}


def index() -> str:
    """The table of contents of the catalog."""
    parts = [
        "# Catalog",
        "Each failure that a training log can show, each healthy thing that resembles one, and each invariant that "
        "code can be held to. Every page stands for itself: what it is, what it looks like, what it is confused with, "
        "what to do, by the names that TRL, verl and OpenRLHF give the settings. In a terminal: `rlprobe explain ID`.",
    ]
    stage = ""
    parts.append("## Failures of a run")
    for entry in catalog.entries():
        if entry.signature.stage != stage:
            stage = entry.signature.stage
            parts.append(f"### {stage.capitalize()}\n\n| id | what it says | severity |\n|---|---|---|")
        parts[-1] += f"\n| {entry.signature.id} | {entry.signature.title} | {entry.signature.severity} |"
    parts.append("## Looks alarming, is normal\n\n| id | what it says |\n|---|---|")
    for one in catalog.normals():
        parts[-1] += f"\n| {one.normal.id} | {one.normal.title} |"
    parts.append("## Invariants of your code")
    for one in checks.entries():
        if one.check.stage != stage:
            stage = one.check.stage
            name = STAGE_NAMES[stage]
            parts.append(f"### {name[:1].upper()}{name[1:]}\n\n| id | what must hold | pitfall |\n|---|---|---|")
        parts[-1] += f"\n| {one.check.id} | {one.check.title} | {one.check.category} |"
    return "\n\n".join(parts) + "\n"


def _read(source: Path) -> str:
    return (ROOT / source).read_text(encoding="utf-8")
