from dataclasses import replace
from pathlib import Path

import pytest

from rlprobe.doctor import configuration
from rlprobe.doctor.configuration import ConfigurationError
from rlprobe.guardian.settings import DEFAULT, Policy, load, show


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "doctor.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_shown_is_read_back_unchanged(tmp_path: Path) -> None:
    other = replace(
        DEFAULT, tell=("died",), severity="critical", halt=Policy(exact=False, only=("KL_BLOWUP",), witnesses=2)
    )

    assert load(write(tmp_path, show(DEFAULT))) == DEFAULT
    assert load(write(tmp_path, show(other))) == other


def test_one_file_serves_the_doctor_and_the_guardian(tmp_path: Path) -> None:
    path = write(tmp_path, "sensitivity = 2.0\n" + show(replace(DEFAULT, messages_a_day=3)))

    assert configuration.load(path).sensitivity == 2.0
    assert load(path).messages_a_day == 3


def test_a_file_without_the_section_leaves_the_defaults(tmp_path: Path) -> None:
    assert load(write(tmp_path, "sensitivity = 1.0\n")) == DEFAULT


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("guardian = 3", "expected a table, got 3"),
        ("[guardian]\nloud = 1", "expected one of cooldown_seconds"),
        ('[guardian]\ntell = "new"', 'expected a list ["..."]'),
        ('[guardian]\ntell = ["sometimes"]', "expected new or worse or recovered or died or ended, got 'sometimes'"),
        ('[guardian]\nseverity = "info"', "expected critical or warning, got 'info'"),
        ("[guardian]\ncooldown_seconds = -1", "expected a number from 0 to 604800, got -1"),
        ("[guardian]\ncooldown_seconds = nan", "got nan"),
        ("[guardian]\nmessages_a_day = 1.5", "expected a whole number from 1 to 10000, got 1.5"),
        ("[guardian]\nmessages_a_day = true", "expected a whole number"),
        ("[guardian.halt]\nexact = 1", "expected true or false, got 1"),
        ('[guardian.halt]\nnever = ["NO_SUCH"]', "expected ids of `rlprobe explain --list`, got 'NO_SUCH'"),
        ("[guardian.halt]\nonly = [[1]]", "got [1]"),
        ("[guardian", "expected readable TOML"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_place_and_cure(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load(write(tmp_path, text))

    assert told in str(refused.value)
    assert "\n" not in str(refused.value)
    assert str(tmp_path) in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="FileNotFoundError"):
        load(tmp_path / "none.toml")
