"""What the pages tell a reader to type is there and takes those words."""

import ast
import importlib.util
import re
import shlex
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import rlprobe
from rlprobe.cli import COMMANDS, load
from rlprobe.cli.arguments import parser_of
from tests.docs.blocks import PAGES, ROOT, Block, blocks, of

SKILL = ROOT / "src" / "rlprobe" / ".agents" / "skills" / "rl-post-training"  # its pages name scripts from there
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"])
ANCHOR = re.compile(r"\]\((?!https?://)([^)#]+)[^)]*\)")
TYPED = re.compile(r"`((?:rlprobe [a-z]|python -m |make )[^`]*)`")


def _lines(block: Block) -> list[str]:
    joined = block.body.replace("\\\n", " ")
    return [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]


SHELL = [(block.name, line) for block in of("sh", "bash", "console") for line in _lines(block)]
INLINE = [
    (f"{page.relative_to(ROOT)}", words) for page in PAGES for words in TYPED.findall(page.read_text(encoding="utf-8"))
]
PYTHON = [block for block in of("python") if not block.where]


def _check(line: str) -> None:
    """Check each command of a line; raises or asserts where something is not there."""
    for command in re.split(r"&&|\|", line):
        words = shlex.split(re.sub(r" > [\w.]+$", "", command), comments=True)
        program, rest = words[0], words[1:]
        if program == "make":
            assert set(rest) <= TARGETS
        elif program == "rlprobe":
            _check_command(rest)
        elif program == "python":
            assert (
                _exists(rest[1]) if rest[0] == "-m" else any((folder / rest[0]).is_file() for folder in (ROOT, SKILL))
            )
        elif program == "pip":
            assert rest[0] == "install"
            assert {extra for word in rest for extra in re.findall(r"\[([\w,]+)\]", word)} <= EXTRAS
        else:
            raise AssertionError(f"no check for {program}")


def _check_command(words: list[str]) -> None:
    if words == ["--version"]:
        return
    assert words[0] in COMMANDS
    if not {"...", "…"} & set(words):
        with_values = ["1" if word in ("N", "S", "STEP") else word for word in words[1:]]
        module = load(words[0])
        given = getattr(module, "before_parsing", list)(with_values)
        parser_of(words[0], module).parse_args(given)


def _exists(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


@pytest.mark.parametrize(("where", "line"), SHELL, ids=[f"{where}-{line[:30]}" for where, line in SHELL])
def test_every_command_of_a_block_takes_what_it_is_given(where: str, line: str) -> None:
    _check(line)


@pytest.mark.parametrize(("where", "words"), INLINE, ids=[f"{where}-{words[:30]}" for where, words in INLINE])
def test_every_command_in_a_sentence_takes_what_it_is_given(where: str, words: str) -> None:
    _check(words)


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.name)
def test_every_python_block_is_python_and_imports_what_there_is(block: Block) -> None:
    for node in ast.walk(ast.parse(block.body)):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("rlprobe"):
            continue
        names = {alias.name for alias in node.names}
        if node.module == "rlprobe":
            assert names <= {*rlprobe.__all__, "lab"}
        else:
            assert names <= set(dir(import_module(node.module or "")))


@pytest.mark.parametrize("block", of("toml", "json"), ids=lambda block: block.name)
def test_every_toml_block_can_be_read(block: Block) -> None:
    if block.language == "toml":
        assert tomllib.loads(block.body)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_and_picture_leads_somewhere(page: Path) -> None:
    targets = ANCHOR.findall(re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL))

    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_index_lists_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")} - {"README.md"}

    assert {page for page in pages if f"({page})" not in index} == set()


def test_the_bench_page_names_every_bench() -> None:
    text = (ROOT / "bench" / "README.md").read_text(encoding="utf-8")
    benches = {path.stem if path.is_file() else path.name for path in (ROOT / "bench").iterdir()} - {"__init__"}

    assert {each for each in benches if f"python -m bench.{each}" not in text} <= {"README", "__pycache__"}


def test_the_readme_fits_its_length() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_no_recipe_has_more_than_ten_steps() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipes = re.split(r"^## (Add .*)$", text, flags=re.MULTILINE)[1:]

    for title, recipe in zip(recipes[::2], recipes[1::2], strict=True):
        steps = [int(number) for number in re.findall(r"^(\d+)\. ", recipe, re.MULTILINE)]
        assert steps == list(range(1, len(steps) + 1)), title
        assert 1 < len(steps) <= 10, title


def test_every_entry_of_the_changelog_has_a_kind_and_at_most_thirty_words() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    entries = re.findall(r"^- (.*)$", text, re.MULTILINE)
    kinds = {"added", "changed", "fixed", "false-alarm", "missed", "removed"}

    assert entries
    assert {entry.split(":")[0] for entry in entries} <= kinds
    assert [entry for entry in entries if len(entry.split()) > 31] == []
    assert f"## {rlprobe.__version__}" in text


def test_blocks_are_found_in_lists_too(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "1. Write.\n\n   ```python\n   # src/a/b.py: in X\n   if x:\n       y()\n   ```\n", encoding="utf-8"
    )

    (block,) = [_moved(each) for each in blocks(page)]

    assert block == ("python", "src/a/b.py", "in X", "if x:\n    y()\n", 3)


def _moved(block: Block) -> tuple[str, str, str, str, int]:
    return block.language, block.path, block.where, block.body, block.line
