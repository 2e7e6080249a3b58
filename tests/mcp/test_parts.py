"""The root, the size of answers, and the command, without a client."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from rlprobe.cli import main
from rlprobe.mcp import root as roots
from rlprobe.mcp.fitting import fitted
from rlprobe.mcp.root import Refused, Root
from rlprobe.reports.json import document

TREES = st.recursive(
    st.text(max_size=3_000) | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=60,
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.text(max_size=5), TREES, max_size=4))
def test_an_answer_fits_or_is_refused_and_is_untouched_where_it_fits(tree: dict[str, object]) -> None:
    whole = document(tree)
    try:
        told = fitted(whole, most=2_000)
    except Refused:
        event("refused")
        return
    assert len(told) <= 2_000
    assert (told == whole) == (len(whole) <= 2_000)
    assert ("cut" in json.loads(told)) or told == whole


@given(st.text(max_size=300) | st.lists(st.sampled_from(["..", ".", "a", "/", "away", "\0"])).map("/".join))
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_no_name_leads_out(served: Path, name: str) -> None:
    root = Root.of(served)
    try:
        found = root.resolve(name)
    except Refused:
        return
    assert found.is_relative_to(served.resolve())


def test_links_in_circles_and_endless_names_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    root = Root.of(tmp_path)

    for name in ("a", "x" * 5_000, "a/b/c"):
        with pytest.raises(Refused):
            root.resolve(name)


def test_a_checkpoint_served_alone_does_not_open_the_folder_above(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint-5"
    folder.mkdir()
    (folder / "trainer_state.json").write_text("{}")

    with pytest.raises(Refused, match="Serve that with --root"):
        Root.of(folder).resolve("trainer_state.json")
    assert Root.of(tmp_path).resolve("checkpoint-5/trainer_state.json").is_file()


def test_a_link_beside_a_log_that_leads_out_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "run").mkdir(parents=True)
    (root / "run" / "trainer_state.json").write_text("{}")
    (tmp_path / "elsewhere").mkdir()
    (root / "run" / "completions").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(Refused, match="completions leads out of the served folder"):
        Root.of(root).resolve("run/trainer_state.json")


def test_a_folder_with_too_much_in_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roots, "MOST_ENTRIES", 3)
    for number in range(5):
        (tmp_path / f"{number}.jsonl").write_text("")

    with pytest.raises(Refused, match="Move the run to a folder of its own"):
        Root.of(tmp_path).resolve("0.jsonl")


def test_a_root_that_is_no_folder_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--root", "/absent"]) == 2
    assert capsys.readouterr().err == "rlprobe: mcp: /absent: expected a folder to serve. Name it with --root.\n"


def test_without_the_extra_one_line_says_how_to_get_it(tmp_path: Path) -> None:
    code = "import sys; sys.modules['mcp'] = None; from rlprobe.cli import main; sys.exit(main(['mcp']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "pip install 'rlprobe[mcp]'" in done.stderr


def test_the_place_of_the_root_is_not_told(tmp_path: Path) -> None:
    root = Root.of(tmp_path)

    assert root.hidden(f"{tmp_path}/run: gone; {tmp_path}: gone") == "run: gone; .: gone"
    assert Root.of("/").hidden("/etc/x: gone") == "/etc/x: gone"
