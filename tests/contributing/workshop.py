"""A copy of the project in which a recipe of CONTRIBUTING.md can be followed."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.docs.blocks import ROOT, Block, blocks

COPIED = ("src", "tests", "bench", "docs")
SINGLE = ("pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile")


@dataclass(frozen=True, slots=True)
class Workshop:
    """The copy."""

    root: Path

    @classmethod
    def make(cls, root: Path) -> "Workshop":
        """Copy everything that a recipe touches or runs."""
        for name in COPIED:
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        for name in SINGLE:
            shutil.copy(ROOT / name, root / name)
        return cls(root)

    def write(self, block: Block) -> Path:
        """Make the file that a block of the page is."""
        target = self.root / block.path
        assert not target.exists(), f"{block.path} exists: the recipe needs another example"
        target.write_text(block.body, encoding="utf-8")
        return target

    def edit(self, path: str, old: str, new: str) -> None:
        """Change the one place of a file."""
        text = (self.root / path).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{path}: {old!r} stands there {text.count(old)} times"
        (self.root / path).write_text(text.replace(old, new), encoding="utf-8")

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run Python on the copy."""
        paths = {"PYTHONPATH": os.pathsep.join([str(self.root / "src"), str(self.root)]), "OMP_NUM_THREADS": "1"}
        return subprocess.run(
            [sys.executable, *words],
            cwd=self.root,
            env={**os.environ, **paths, "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def rlprobe(self, *words: str) -> str:
        """What a command of the copy prints; it must end well."""
        done = self.run("-m", "rlprobe", *words)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout


def recipe(title: str) -> list[Block]:
    """The blocks of one chapter of CONTRIBUTING.md, in order."""
    page = ROOT / "CONTRIBUTING.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    first = lines.index(f"## {title}") + 1
    last = next((n for n, line in enumerate(lines[first:], first) if line.startswith("## ")), len(lines))
    return [block for block in blocks(page) if first < block.line <= last]
