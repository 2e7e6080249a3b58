"""What is shipped: the wheel's files, and extras that error messages name."""

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import rlprobe
from rlprobe.cli import COMMANDS
from rlprobe.skill import bundle
from tests.docs.blocks import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SOURCE = ROOT / "src"
DATA = (".md", ".json", ".typed", ".html", ".css", ".js", ".csv", ".toml")  # what stands beside the code


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    words = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    there = {str(path.relative_to(SOURCE)) for path in (SOURCE / "rlprobe").rglob("*") if path.suffix in (".py", *DATA)}

    assert packed == there
    assert {"rlprobe/py.typed", "rlprobe/doctor/calibration/table.json"} <= packed
    assert sum(name.endswith(".md") for name in packed) > 40
    skill = "rlprobe/.agents/skills/rl-post-training"  # where tools look for skills in installed packages
    told = {name.removeprefix(f"{skill}/") for name in packed if name.startswith(f"{skill}/")}
    assert told == set(bundle.files())


@pytest.mark.slow
def test_the_wheel_works_where_nothing_else_of_the_project_is(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    code = "import rlprobe, rlprobe.cli as cli; print(rlprobe.__file__); cli.main(['explain', 'KL_BLOWUP'])"
    code += "; assert cli.main(['skill', 'install', '--dir', 'skills']) == 0"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path))
    assert "Easily confused with" in done.stdout
    assert (
        (tmp_path / "skills" / "rl-post-training" / "SKILL.md").read_text().startswith("---\nname: rl-post-training\n")
    )


def test_the_source_distribution_holds_everything_that_is_tracked() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("no repository: an unpacked source distribution")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tracked = {line.split("/")[0] for line in listed.splitlines()}
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]

    added = {"pyproject.toml"}  # by the build itself
    assert {name for name in tracked if not name.startswith(".")} == set(told["sdist"]["include"]) | added


def test_extras_that_the_code_names_exist() -> None:
    named = {
        extra
        for path in (SOURCE / "rlprobe").rglob("*.py")
        for extra in re.findall(r"rlprobe\[([\w-]+)\]", path.read_text(encoding="utf-8"))
    }

    assert named
    assert named <= set(PROJECT["optional-dependencies"])


def test_the_version_is_written_once_for_all() -> None:
    assert PROJECT["version"] == rlprobe.__version__ == metadata.version("rlprobe")


def test_the_command_is_installed_under_its_name() -> None:
    assert PROJECT["scripts"] == {"rlprobe": "rlprobe.cli:main"}
    assert "doctor" in COMMANDS


def test_what_a_fresh_machine_installs_for_the_demo_needs_no_torch() -> None:
    core = {re.split(r"[<>=\[]", name)[0] for name in PROJECT["dependencies"]}

    assert core == {"numpy", "pyarrow", "msgspec", "rich"}
