"""Every block of docs/ and of the README is run, or says above it why not."""

import contextlib
import io
import re
import runpy
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlprobe import Recorder, lab
from rlprobe.cli import main
from rlprobe.doctor import catalog
from tests.docs import prepared
from tests.docs.blocks import ROOT, Block, blocks

SHELL, OTHERS = ("sh", "bash", "console"), ("make", "pip", "python")  # others' words are checked in test_blocks.py
REFERENCE = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TELLING = [
    ROOT / "docs" / "quickstart.md",
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
]  # blocks build on others
FILE = re.compile(r"^# (?P<path>[\w/]+\.py)\n")
PROMISED = {  # what a page says that its commands show
    "quickstart.md": ("runs/demo", "completion_tokens_mean", "REWARD_HACK_LENGTH"),
    "first-recording.md": ("runs/first", "Not checked", "Step 40"),
    "diagnose-a-log.md": ("ENTROPY_COLLAPSE", "NEW warning"),
    "halt-a-run.md": ("Would ask training to halt", "NUMERIC_NAN loss"),
    "verify-your-loss.md": ("V208", "fixed "),
    "add-a-signature.md": ("The judge falls behind", "JUDGE_QUEUE"),
}
COMMAND = re.compile(r"(?:[A-Z_]+='[^']*' )?rlprobe [a-z]")
SHORT = 20  # steps that a page's longer training is cut to: what it shows is shown elsewhere
ELSEWHERE = {"run": "starts the reader's own program", "mcp": "serves until it is ended"}  # run in their own tests
INTO = re.compile(r"(.*) > ([\w./]+)")
NOT_RUN_AT_MOST = 12
pytestmark = pytest.mark.filterwarnings("default::DeprecationWarning")  # the commands' libraries' own


def _shell(block: Block) -> bool:
    lines = block.body.strip().splitlines()
    bare = not block.language and bool(lines) and all(COMMAND.match(line) for line in lines)
    return block.language in SHELL or bare


def _blocks(pages: list[Path]) -> list[Block]:
    return [block for page in pages for block in blocks(page) if block.language in ("python", "toml") or _shell(block)]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared.folder(tmp_path_factory.mktemp("pages"))


@pytest.fixture(autouse=True)
def short_trainings(monkeypatch: pytest.MonkeyPatch) -> None:
    train, run_in_memory = lab.train, lab.run_in_memory
    monkeypatch.setattr(lab, "train", lambda *words, steps, **named: train(*words, steps=min(steps, SHORT), **named))
    monkeypatch.setattr(
        lab, "run_in_memory", lambda name, steps, **named: run_in_memory(name, min(steps, SHORT), **named)
    )


def _command(line: str) -> str:
    """What a command of rlprobe prints, run in this process; all but wrong usage and internal errors is an answer."""
    line, into = (found[1], found[2]) if (found := INTO.fullmatch(line)) else (line, "")
    words = [word for word in shlex.split(line, comments=True) if not re.fullmatch(r"[A-Z_]+=.*", word)]
    if not words or words[0] in OTHERS or any("..." in word for word in words):  # other programs; places to fill in
        return ""
    assert words[0] == "rlprobe", f"no way to run {words[0]}"
    if words[1] in ELSEWHERE:
        return ""
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        code = main(words[1:])
    assert code in (0, 1, 3), f"{line!r} ends with {code}"
    if into:
        Path(into).write_text(written.getvalue(), encoding="utf-8")
    return written.getvalue()


def _run(block: Block, names: dict[str, object]) -> str:
    """Run a block; what its commands print."""
    if block.language == "python":
        if found := FILE.match(block.body):
            Path(found["path"]).write_text(block.body, encoding="utf-8")
            return ""
        exec(compile("\n" * block.line + block.body, str(block.page), "exec"), names)
        return ""
    if block.language == "toml":
        _install(block.body)
        return ""
    return "".join(_command(line) for line in block.body.replace("\\\n", " ").splitlines())


def _install(body: str) -> None:
    """What `pip install` of a project leaves beside the code, where the block is a project with entry points."""
    project = tomllib.loads(body).get("project", {})
    for group, points in project.get("entry-points", {}).items():
        info = Path(f"{project['name'].replace('-', '_')}-{project['version']}.dist-info")
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        )
        (info / "entry_points.txt").write_text(f"[{group}]\n" + "".join(f"{n} = {t}\n" for n, t in points.items()))
        catalog._found.cache_clear()  # as in a process that starts after the installation


@contextlib.contextmanager
def _given(block: Block) -> Iterator[dict[str, object]]:
    """What a reference page's block takes as the reader's own: functions, numbers, a recorder."""
    own = runpy.run_path(str(ROOT / "examples" / "verify_pipeline.py"))
    names: dict[str, object] = {f"my_{name}": own[name] for name in ("advantages", "logprobs", "loss")}
    names |= {"steps": 3, "metrics": {"reward_mean": 0.5}, "save_checkpoint": lambda: None, "decode": str}
    names |= {"train_one_step": lambda step: ({"entropy_mean": 1.0}, [{"group": "0", "reward": float(step % 2)}])}
    with Recorder(Path("runs") / f"{block.page.stem}-{block.line}", algorithm="grpo") as recorder:
        yield names | {"recorder": recorder}


@contextlib.contextmanager
def _at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("HOME", str(folder))  # where `rlprobe skill install --user` installs
    known = set(sys.modules)
    try:
        yield
    finally:
        catalog._found.cache_clear()
        for name in set(sys.modules) - known:
            if (file := getattr(sys.modules[name], "__file__", None)) and str(folder) in file:
                del sys.modules[name]


_SEEN: set[str] = set()


def _once(block: Block) -> Block:
    """The block without commands that another page has had run in the same folder."""
    lines = [line for line in block.body.splitlines() if block.language == "python" or line not in _SEEN]
    _SEEN.update(lines)
    return Block(**{**{name: getattr(block, name) for name in Block.__slots__}, "body": "\n".join(lines)})


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in REFERENCE if page not in TELLING], ids=lambda page: page.name)
def test_the_blocks_of_a_reference_page_run(page: Path, reference: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with _at(reference, monkeypatch):
        for block in _blocks([page]):
            if block.not_run:
                continue
            with _given(block) as names:
                _run(_once(block), names)


@pytest.mark.slow
@pytest.mark.parametrize("page", TELLING, ids=lambda page: page.name)
def test_the_blocks_of_a_tutorial_run_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: dict[str, object] = {}
    with _at(tmp_path, monkeypatch):
        shown = "".join(_run(block, names) for block in _blocks([page]) if not block.not_run)

    assert [words for words in PROMISED[page.name] if words not in shown] == []


def test_what_is_not_run_says_why_and_is_little() -> None:
    left = {block.name: block.not_run for block in _blocks([*REFERENCE, *TELLING]) if block.not_run}

    assert all(len(reason.split()) >= 4 for reason in left.values()), left
    assert len(left) <= NOT_RUN_AT_MOST, left
