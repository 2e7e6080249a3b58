"""The skill comes into a project whole, comes up to date, and never over what somebody wrote."""

import json
import os
import shlex
from pathlib import Path

import pytest

from rlprobe.cli import main
from rlprobe.skill import bundle, install

FILES = set(bundle.files())


def _in(folder: Path) -> set[str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix() for path in files} - {install.RECORD}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_file_is_copied_as_it_is(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["skill", "install"]) == 0

    target = project / ".agents" / "skills" / "rl-post-training"
    assert _in(target) == FILES
    assert {"SKILL.md", "references/common-pitfalls.md", "scripts/verify_pipeline.py"} <= FILES
    assert all((target / name).read_bytes() == (bundle.FOLDER / name).read_bytes() for name in FILES)
    assert capsys.readouterr().out.count("new ") == len(FILES)
    assert [path.name for path in project.iterdir()] == [".agents"]


def test_tools_that_are_in_use_get_it_too(project: Path) -> None:
    for folder in (".claude", ".cursor", ".gemini/skills", ".github/workflows"):
        (project / folder).mkdir(parents=True)

    assert main(["skill", "install"]) == 0

    assert {str(path.parent.parent.parent.relative_to(project)) for path in project.rglob("SKILL.md")} == {
        ".agents",
        ".claude",
        ".gemini",
    }


def test_a_named_folder_is_the_only_one(project: Path) -> None:
    (project / ".claude").mkdir()

    assert main(["skill", "install", "--dir", "tools/skills"]) == 0

    assert _in(project / "tools" / "skills" / bundle.NAME) == FILES
    assert not (project / ".agents").exists()


def test_user_means_the_home_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = project / "home"
    (home / ".claude").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))

    assert main(["skill", "install", "--user"]) == 0

    assert {path.name for path in project.iterdir()} == {"home"}
    assert _in(home / ".claude" / "skills" / bundle.NAME) == FILES


def test_what_somebody_changed_is_kept_unless_forced(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["skill", "install"])
    mine = project / ".agents" / "skills" / bundle.NAME / "scripts" / "adapters.py"
    mine.write_text("def reward(completion, answer):\n    return 1.0\n")
    capsys.readouterr()

    assert main(["skill", "install", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert {file["path"]: file["did"] for file in told["files"] if file["did"] != "unchanged"} == {str(mine): "kept"}
    assert told["next"] == ["rlprobe skill install --force"]
    assert mine.read_text().startswith("def reward")

    assert main(["skill", "install", "--force"]) == 0
    assert mine.read_bytes() == (bundle.FOLDER / "scripts" / "adapters.py").read_bytes()


def test_a_newer_version_replaces_and_removes_what_nobody_changed(tmp_path: Path) -> None:
    target = tmp_path / bundle.NAME
    install.install(tmp_path, version="1")
    older = {"SKILL.md": b"older", "references/gone.md": b"gone", "references/mine.md": b"as written"}
    for name, content in older.items():
        (target / name).write_bytes(content)
    record = json.loads((target / install.RECORD).read_text())
    record["files"] |= {name: install._digest(content) for name, content in older.items()}
    (target / install.RECORD).write_text(json.dumps(record))
    (target / "references" / "mine.md").write_bytes(b"changed by somebody")

    did = {step.path.name: step.did for step in install.install(tmp_path, version="1")}

    assert did["SKILL.md"] == "updated"
    assert did["gone.md"] == "removed"
    assert did["mine.md"] == "kept"
    assert _in(target) == FILES | {"references/mine.md"}


def test_a_record_that_somebody_forged_removes_nothing_elsewhere(tmp_path: Path) -> None:
    outside = tmp_path / "precious.txt"
    outside.write_bytes(b"precious")
    install.install(tmp_path / "skills", version="1")
    record = tmp_path / "skills" / bundle.NAME / install.RECORD
    named = {"../../precious.txt": install._digest(b"precious"), str(outside): install._digest(b"precious")}
    record.write_text(json.dumps({"files": named}))

    install.install(tmp_path / "skills", version="1")

    assert outside.read_bytes() == b"precious"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"files": 3}', "\x00"])
def test_a_broken_record_costs_nothing(tmp_path: Path, text: str) -> None:
    install.install(tmp_path, version="1")
    (tmp_path / bundle.NAME / install.RECORD).write_text(text)

    assert {step.did for step in install.install(tmp_path, version="1")} == {"unchanged"}


def test_links_are_not_written_through(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skills = project / ".agents" / "skills"
    (skills / "elsewhere").mkdir(parents=True)
    (skills / bundle.NAME).symlink_to(skills / "elsewhere", target_is_directory=True)

    (project / ".claude").mkdir()

    assert main(["skill", "install", "--force"]) == 1

    assert f"kept      {skills / bundle.NAME}\n" in capsys.readouterr().out
    assert list((skills / "elsewhere").iterdir()) == []
    assert _in(project / ".claude" / "skills" / bundle.NAME) == FILES


@pytest.mark.parametrize("how", ["link", "file"])
def test_a_folder_of_the_skill_that_is_none_is_refused(
    project: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = project / ".agents" / "skills" / bundle.NAME
    target.mkdir(parents=True)
    if how == "link":
        (project / "elsewhere").mkdir()
        (target / "references").symlink_to(project / "elsewhere", target_is_directory=True)
    else:
        (target / "references").write_text("")

    assert main(["skill", "install"]) == 2

    assert "expected a folder, got a link or a file" in capsys.readouterr().err
    assert not (target / "SKILL.md").exists()


def test_a_file_that_is_a_link_is_kept_even_when_forced(tmp_path: Path) -> None:
    install.install(tmp_path, version="1")
    page, outside = tmp_path / bundle.NAME / "SKILL.md", tmp_path / "outside.md"
    outside.write_text("outside")
    page.unlink()
    page.symlink_to(outside)

    did = {step.path.name: step.did for step in install.install(tmp_path, version="1", force=True)}

    assert did["SKILL.md"] == "kept"
    assert outside.read_text() == "outside"


def test_a_project_whose_folder_leads_out_of_it_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outside = project.parent / f"{project.name}-outside"
    outside.mkdir()
    (project / ".agents").symlink_to(outside, target_is_directory=True)

    assert main(["skill", "install"]) == 2

    assert "Name the folder with --dir" in capsys.readouterr().err
    assert list(outside.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_one_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "file").write_text("")

    assert main(["skill", "install", "--dir", "file"]) == 2

    assert capsys.readouterr().err.count("\n") == 1


def test_pages_and_place_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["skill", "path"]) == 0
    assert Path(capsys.readouterr().out.strip()) == bundle.FOLDER
    assert main(["skill", "show", "pitfalls"]) == 0
    assert "Log-space signs" in capsys.readouterr().out
    assert main(["skill", "show", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["id"] == "guide"
    assert told["markdown"].startswith("# RL post-training")
    assert main(["skill", "show", "nothing"]) == 2
    assert "expected one of guide, workflow, pitfalls" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["SKILL.md", install.RECORD, "scripts/adapters.py"])
@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_a_file_of_the_skill_that_is_none_is_refused_at_once(
    project: Path, name: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project / "skills" / bundle.NAME / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()

    assert main(["skill", "install", "--dir", "skills", "--force"]) == 2

    told = capsys.readouterr().err
    assert f"{name}: expected a file, got something else" in told
    assert told.count("\n") == 1
    assert [each for each in project.rglob("*") if each.is_file()] == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["install", "guide"], "install takes no page, got 'guide'"),
        (["path", "guide"], "path takes no page"),
        (["show", "--force"], "belong to install, got show"),
        (["show", "--dir", "skills"], "belong to install, got show"),
        (["install", "--user", "--dir", "skills"], "expected --dir or --user, got both"),
        (["install", "--dir", "~nobody-of-that-name/skills"], "expected a user with a home folder"),
    ],
)
def test_words_that_would_not_be_looked_at_are_refused(
    project: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["skill", *words]) == 2

    assert told in capsys.readouterr().err
    assert list(project.iterdir()) == []


@pytest.mark.parametrize("home", ["", "relative"])
def test_a_home_that_is_no_folder_is_refused(
    project: Path, home: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", home)

    assert main(["skill", "install", "--user"]) == 2

    assert "HOME: expected a folder's whole path" in capsys.readouterr().err
    assert list(project.iterdir()) == []


def test_the_command_that_is_named_next_leads_to_the_same_folder(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["skill", "install", "--dir", "my skills"])
    mine = project / "my skills" / bundle.NAME / "SKILL.md"
    mine.write_text("mine")
    capsys.readouterr()

    assert main(["skill", "install", "--dir", "my skills", "--json"]) == 1
    (again,) = json.loads(capsys.readouterr().out)["next"]
    assert main(shlex.split(again)[1:]) == 0

    assert mine.read_bytes() == (bundle.FOLDER / "SKILL.md").read_bytes()
    assert not (project / ".agents").exists()


def test_the_place_is_told_as_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["skill", "path", "--json"]) == 0

    assert json.loads(capsys.readouterr().out) == {"schema": "rlprobe.skill-path/1", "path": str(bundle.FOLDER)}
