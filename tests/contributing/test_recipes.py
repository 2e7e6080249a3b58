"""Each recipe of CONTRIBUTING.md is followed to the letter in a copy of the project, and then taken back."""

import json
import sys
from pathlib import Path

import pytest

from rlprobe import open_run
from rlprobe.doctor import catalog
from tests.contributing.workshop import Workshop, recipe
from tests.docs.blocks import Block


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop.make(tmp_path / "copy")


def _named(blocks: list[Block], path: str) -> Block:
    (found,) = [block for block in blocks if block.path.endswith(path)]
    return found


def _alarms(workshop: Workshop, run: str) -> list[str]:
    document = json.loads(workshop.rlprobe("doctor", run, "--json", "--fail-on", "never"))
    return [finding["id"] for finding in document["findings"] if finding["severity"] != "info"]


def _add_signature(workshop: Workshop) -> list[Path]:
    blocks = recipe("Add a signature")
    (row,) = [block for block in blocks if block.language == "csv"]
    with (workshop.root / "bench" / "doctor" / "ids.csv").open("a", encoding="utf-8") as ids:
        ids.write(row.body)
    fault = _named(blocks, "faults/advantages.py")
    faults = workshop.root / fault.path
    before, _, after = faults.read_text(encoding="utf-8").rpartition("\n)\n")
    faults.write_text(f"{before}\n{fault.body})\n{after}", encoding="utf-8")
    variant = 'description="REINFORCE with a running baseline: advantages are not centred in a group.",\n'
    alike = variant + "        look_alike_of=("
    workshop.edit("src/rlprobe/lab/variants.py", alike, alike + '"ADVANTAGE_OFFSET", ')
    return [workshop.write(_named(blocks, f"advantage_offset.{ending}")) for ending in ("py", "md")]


@pytest.mark.slow
def test_a_signature_is_found_by_its_file_its_page_and_the_tables(workshop: Workshop) -> None:
    written = _add_signature(workshop)

    assert "ADVANTAGE_OFFSET" in workshop.rlprobe("explain", "--list")
    assert "lies beyond 0.2" in " ".join(workshop.rlprobe("explain", "advantage_offset").split())
    assert "bonus-late" in workshop.rlprobe("demo", "--list")
    assert "[signatures.ADVANTAGE_OFFSET]" in workshop.rlprobe("doctor", "--show-config")
    checked = workshop.run("-m", "pytest", "tests/doctor/test_catalog.py", "-q", "-k", "ADVANTAGE_OFFSET or listed")
    assert checked.returncode == 0, checked.stdout

    for path in written:
        path.unlink()
    assert "ADVANTAGE_OFFSET" not in workshop.rlprobe("explain", "--list")


@pytest.mark.slow
def test_a_signature_fires_on_its_fault_and_not_on_its_look_alike(workshop: Workshop) -> None:
    _add_signature(workshop)

    for name in ("bonus-late", "healthy-reinforce"):
        workshop.rlprobe("demo", name, "--steps", "60", "--out", name)

    assert "ADVANTAGE_OFFSET" in _alarms(workshop, "bonus-late")
    assert "ADVANTAGE_OFFSET" not in _alarms(workshop, "healthy-reinforce")


@pytest.mark.slow
def test_a_signature_of_another_package_is_found_by_its_entry_point(workshop: Workshop) -> None:
    blocks = recipe("Add a signature")
    (named,) = [block for block in blocks if block.language == "toml"]
    package, about = workshop.root / "my_package", workshop.root / "my_package-1.dist-info"
    for folder in (package, about):
        folder.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "advantage_offset.py").write_text(_named(blocks, "advantage_offset.py").body, encoding="utf-8")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1\n", encoding="utf-8")
    point = named.body.splitlines()[1].replace('"', "")
    (about / "entry_points.txt").write_text(f"[{catalog.ENTRY_POINTS}]\n{point}\n", encoding="utf-8")

    assert f'"{catalog.ENTRY_POINTS}"' in named.body
    assert "ADVANTAGE_OFFSET" in workshop.rlprobe("explain", "--list")
    assert "Advantages are not centred" in workshop.rlprobe("explain", "ADVANTAGE_OFFSET")


@pytest.mark.slow
def test_an_importer_is_found_by_its_file(workshop: Workshop) -> None:
    written = workshop.write(_named(recipe("Add an importer"), "importers/bars.py"))
    log = workshop.root / "train.log"
    lines = [f"{step} | reward {0.5 + step / 1000} | kl nan" for step in range(1, 41)]
    log.write_text("\n".join([*lines, "what is this?", "41 | reward 0.6 | kl"]), encoding="utf-8")

    document = json.loads(workshop.rlprobe("doctor", "train.log", "--json", "--fail-on", "never"))

    assert document["run"]["format"] == "bars"
    assert document["run"]["rows"] == 40
    assert document["recording"]["unreadable"] == 2
    assert "reward_mean" in workshop.rlprobe("show", "train.log", "--step", "12")
    assert "`bars`: console lines" in workshop.run("-m", "rlprobe.importers.keymaps.page").stdout
    older = workshop.run("-m", "pytest", "tests/importers/test_opening.py", "-q", "-x")
    assert older.returncode == 0, older.stdout
    written.unlink()
    assert workshop.run("-m", "rlprobe", "doctor", "train.log").returncode == 2


class _Pocket:
    """A trainer as pocket-rl has it."""

    algorithm = "grpo"

    def __init__(self) -> None:
        self.config = {"learning_rate": 1e-6, "api_key": "secret"}
        self.on_step: list = []

    def train(self, steps: int) -> None:
        for step in range(1, steps + 1):
            for hook in self.on_step:
                hook(step, {"ret": 0.1 * step, "gnorm": 1.0, "their_own": 3.0})
        for hook in self.on_step:
            hook(steps + 1, None)  # what makes a hook fail


def test_an_integration_records_canonical_names_and_survives_its_own_failure(tmp_path: Path) -> None:
    block = _named(recipe("Add an integration"), "integrations/pocket.py")
    names: dict[str, object] = {}
    exec(compile(block.body, block.name, "exec"), names)
    trainer = _Pocket()

    recorder = names["attach"](trainer, tmp_path / "run")  # type: ignore[operator]
    trainer.train(5)
    recorder.close()

    run = open_run(tmp_path / "run")
    assert run.column("reward_mean").tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert {"reward_mean", "grad_norm", "their_own"} <= set(run.metrics)
    assert run.manifest.framework == "pocket-rl"
    assert "secret" not in json.dumps(dict(run.manifest.configuration))
    assert [event.fields["hook"] for event in run.events if event.kind == "bad_hook"] == ["on_step"]


@pytest.mark.slow
def test_the_worked_examples_keep_the_house_rules(workshop: Workshop) -> None:
    _add_signature(workshop)
    workshop.write(_named(recipe("Add an importer"), "importers/bars.py"))
    workshop.write(_named(recipe("Add an integration"), "integrations/pocket.py"))
    files = [
        "src/rlprobe/doctor/signatures/advantages/advantage_offset.py",
        "src/rlprobe/importers/bars.py",
        "src/rlprobe/integrations/pocket.py",
        "src/rlprobe/lab/faults/advantages.py",
    ]

    for command in (["-m", "ruff", "check"], ["-m", "ruff", "format", "--check"], ["-m", "mypy"]):
        done = workshop.run(*command, *files)
        assert done.returncode == 0, done.stdout + done.stderr
    arrows = workshop.run("-c", "import sys; from importlinter.cli import lint_imports_command as c; c()")
    assert arrows.returncode == 0, arrows.stdout


def test_the_copy_is_what_runs(workshop: Workshop) -> None:
    told = workshop.run("-c", "import rlprobe; print(rlprobe.__file__)").stdout

    assert Path(told.strip()).is_relative_to(workshop.root)
    assert str(workshop.root) not in sys.path
