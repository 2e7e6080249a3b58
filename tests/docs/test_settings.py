"""Every setting that a page names exists in the trainer under that name.

TRL's names are read from the source that is installed, those of verl and OpenRLHF from lists that
`python -m bench.catalog.settings` makes of their wheels.
"""

import ast
import re
from collections.abc import Iterator
from importlib import util
from pathlib import Path

import pytest
from bench.catalog.settings import flags, keys

from rlprobe.doctor import catalog
from rlprobe.recording.settings import SETTINGS
from rlprobe.reports import catalog_page

LISTS = Path(__file__).parent / "settings"
DPO, GRPO, RLOO = "dpo_config.py", "grpo_config.py", "rloo_config.py"


def _listed(trainer: str) -> frozenset[str]:
    (path,) = LISTS.glob(f"{trainer}-*.txt")
    return frozenset(path.read_text(encoding="utf-8").split())


def _fields(path: Path) -> Iterator[str]:
    """Annotated names of the classes of a file: a dataclass's fields."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def _trl() -> frozenset[str]:
    trl, transformers = util.find_spec("trl"), util.find_spec("transformers")
    if trl is None or transformers is None or trl.origin is None or transformers.origin is None:
        pytest.skip("needs the trl extra")
    trainers = Path(trl.origin).parent / "trainer"
    paths = [trainers / name for name in (DPO, GRPO, RLOO, "base_config.py")]
    paths.append(Path(transformers.origin).parent / "training_args.py")
    return frozenset(name for path in paths if path.is_file() for name in _fields(path))


def test_the_names_of_trl_are_fields_of_its_configurations() -> None:
    known = _trl()

    assert {"beta", "learning_rate", "num_generations"} <= known
    assert {one.trl for one in SETTINGS} - {""} - known == set()


def test_the_names_of_verl_are_keys_of_its_configuration() -> None:
    assert {one.verl for one in SETTINGS} - {""} - _listed("verl") == set()


def test_the_names_of_openrlhf_are_flags_of_its_command() -> None:
    assert {one.openrlhf for one in SETTINGS} - {""} - _listed("openrlhf") == set()


@pytest.mark.parametrize("id", [entry.signature.id for entry in catalog.entries()])
def test_a_page_names_no_setting_that_is_nobodys(id: str) -> None:
    text = catalog_page.page(id)[1]
    named = set(re.findall(r"`(--[\w.]+|(?:actor_rollout_ref|algorithm|critic|data|trainer)\.[\w.]+)`", text))

    assert named <= _listed("verl") | _listed("openrlhf")


def test_what_older_versions_called_a_setting_is_told_nowhere() -> None:
    former = {f"`--{name}`" for one in SETTINGS for name in one.former}

    for entry in catalog.entries():
        text = catalog_page.page(entry.signature.id)[1]
        assert not [name for name in former if name in text], entry.signature.id


def test_keys_and_flags_are_read_from_text_alone() -> None:
    text = "a:\n  b: 1\n  'n': 2\n  c:\n    d: ${x}\n# e: 3\nf:\n- g\n"
    source = 'p.add_argument("--one.two", type=int)\nfor x in ("a", "b"):\n    p.add_argument(f"--{x}.lr", default=1)\n'

    assert list(keys(text)) == ["a", "a.b", "a.n", "a.c", "a.c.d", "f"]
    assert set(flags(source)) == {"--one.two", "--a.lr", "--b.lr"}
