"""doctor.toml: what it changes, what it refuses, and signatures that other packages bring."""

import subprocess
import sys
import textwrap
from math import log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlprobe.doctor.catalog import entries
from rlprobe.doctor.configuration import DEFAULT, Choice, Configuration, ConfigurationError, load, show
from rlprobe.doctor.engine import diagnose
from rlprobe.recording.run import Run
from tests.support.runs import columns_run, course

WITH_THRESHOLDS = [entry.signature for entry in entries() if entry.signature.thresholds]


def _written(folder: Path, text: str) -> Configuration:
    path = folder / "doctor.toml"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return load(path)


def _collapsing(floor: float = 0.06) -> Run:
    """Entropy falls to a fraction of its start in 40 of 200 rows; the reward stays where it is."""
    fall = np.concatenate([np.full(60, 1.0), np.geomspace(1.0, floor, 40), np.full(100, floor)])
    noise = 1.0 + 0.03 * np.random.default_rng(0).normal(size=200)
    return columns_run({"entropy_mean": fall * noise, "reward_mean": course(0.4, 0.4, 200, noise=0.05)})


def _found(run: Run, configuration: Configuration = DEFAULT) -> dict[str, str]:
    return {one.id: one.severity for one in diagnose(run, configuration=configuration).findings}


def test_what_show_prints_load_reads_back(tmp_path: Path) -> None:
    assert _written(tmp_path, show()) == Configuration(
        signatures={entry.signature.id: _whole(entry.signature.id) for entry in entries()}
    )


def _whole(id: str) -> Choice:
    signature = next(entry.signature for entry in entries() if entry.signature.id == id)
    return Choice(thresholds={threshold.name: threshold.value for threshold in signature.thresholds})


def test_a_printed_default_changes_no_finding(tmp_path: Path) -> None:
    run = _collapsing()

    assert diagnose(run, configuration=_written(tmp_path, show())) == diagnose(run)


@settings(deadline=None, max_examples=30)
@given(data=st.data(), sensitivity=st.floats(0.1, 10.0))
def test_any_configuration_survives_show_and_load(data: st.DataObject, sensitivity: float, tmp_path_factory) -> None:  # type: ignore[no-untyped-def]  # pytest's own factory
    signature = data.draw(st.sampled_from(WITH_THRESHOLDS))
    threshold = data.draw(st.sampled_from(signature.thresholds))
    value = data.draw(st.floats(max(threshold.low, -1e9), min(threshold.high, 1e9)))
    severity = data.draw(st.sampled_from(["critical", "warning", "info"]))
    chosen = Configuration(
        sensitivity=sensitivity,
        signatures={signature.id: Choice(enabled=False, severity=severity, thresholds={threshold.name: value})},
    )

    read = _written(tmp_path_factory.mktemp("toml"), show(chosen))

    assert read.sensitivity == sensitivity
    assert not read.choice(signature.id).enabled
    assert (read.choice(signature.id).severity or signature.severity) == severity
    assert read.choice(signature.id).thresholds[threshold.name] == value


def test_every_threshold_is_printed_with_its_unit_and_meaning() -> None:
    lines = show().splitlines()

    for signature in WITH_THRESHOLDS:
        for threshold in signature.thresholds:
            assert any(line.startswith(f"{threshold.name} = ") and threshold.meaning in line for line in lines)


def test_a_disabled_signature_is_silent_and_says_so(tmp_path: Path) -> None:
    off = _written(tmp_path, "[signatures.ENTROPY_COLLAPSE]\nenabled = false\n")

    assert "ENTROPY_COLLAPSE" in _found(_collapsing())
    diagnosis = diagnose(_collapsing(), configuration=off)
    assert "ENTROPY_COLLAPSE" not in {one.id for one in diagnosis.findings}
    assert [one.reason for one in diagnosis.not_checked if one.id == "ENTROPY_COLLAPSE"] == ["disabled"]


@pytest.mark.parametrize("severity", ["critical", "warning", "info"])
def test_a_severity_is_told_as_configured(tmp_path: Path, severity: str) -> None:
    chosen = _written(tmp_path, f'[signatures.ENTROPY_COLLAPSE]\nseverity = "{severity}"\n')

    assert _found(_collapsing(), chosen)["ENTROPY_COLLAPSE"] == severity


def test_a_threshold_moves_the_line(tmp_path: Path) -> None:
    strict = _written(tmp_path, "[signatures.ENTROPY_COLLAPSE]\nfloor = 0.01\nexhausted = 0.01\n")

    assert "ENTROPY_COLLAPSE" in _found(_collapsing())
    assert "ENTROPY_COLLAPSE" not in _found(_collapsing(), strict)


def test_sensitivity_scales_the_evidence_asked_for_and_nothing_else(tmp_path: Path) -> None:
    keen, slow = _written(tmp_path, "sensitivity = 2"), _written(tmp_path, "sensitivity = 0.5")

    assert keen.alarm == DEFAULT.alarm / 2
    assert slow.alarm == DEFAULT.alarm * 2
    assert DEFAULT.alarm == pytest.approx(log(40 / 0.05))
    seen = [
        next(one for one in diagnose(_collapsing(), configuration=c).findings if one.id == "ENTROPY_COLLAPSE")
        for c in (keen, DEFAULT, slow)
    ]
    assert seen[0].detected_step < seen[1].detected_step < seen[2].detected_step
    assert seen[0].title == seen[1].title == seen[2].title


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("sensitivity = = 2", ["TOML", "line 1"]),
        ("sensitivty = 2", ["'sensitivty'", "`sensitivity`"]),
        ("sensitivity = 0", ["sensitivity", "from 0.1 to 10", "0"]),
        ("sensitivity = true", ["sensitivity", "True"]),
        ('sensitivity = "high"', ["sensitivity", "'high'"]),
        ("sensitivity = nan", ["sensitivity", "nan"]),
        ("signatures = 3", ["[signatures.ID]", "3"]),
        ("[signatures.ENTROPY_COLAPSE]", ["ENTROPY_COLAPSE", "explain --list"]),
        ("[signatures]\nENTROPY_COLLAPSE = false", ["ENTROPY_COLLAPSE", "table", "False"]),
        ("[signatures.ENTROPY_COLLAPSE]\nenabled = 1", ["ENTROPY_COLLAPSE.enabled", "true or false", "1"]),
        ('[signatures.ENTROPY_COLLAPSE]\nseverity = "high"', ["severity", "critical, warning or info", "'high'"]),
        ("[signatures.ENTROPY_COLLAPSE]\nseverity = [1]", ["severity", "[1]"]),
        ("[signatures.ENTROPY_COLLAPSE]\nflor = 0.1", ["floor", "'flor'"]),
        ("[signatures.ENTROPY_COLLAPSE]\nfloor = -1", ["ENTROPY_COLLAPSE.floor", "from 0 to", "-1"]),
        ('[signatures.ENTROPY_COLLAPSE]\nfloor = "a\\nb"', ["ENTROPY_COLLAPSE.floor"]),
        ('"a\\nb" = 1', ["expected `sensitivity`"]),
        ('[signatures."a\\nb"]', ["expected known ids"]),
        ("sensitivity = " + "[" * 5000, ["doctor.toml"]),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line_with_place_and_cure(
    tmp_path: Path, text: str, names: list[str]
) -> None:
    with pytest.raises(ConfigurationError) as error:
        _written(tmp_path, text)

    said = str(error.value)
    assert "\n" not in said
    assert len(said) < 400
    assert str(tmp_path) in said
    assert [name for name in names if name not in said] == []


def test_a_file_that_cannot_be_read_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")

    for path in (tmp_path / "absent.toml", tmp_path, tmp_path / "binary.toml"):
        with pytest.raises(ConfigurationError, match=r"^[^\n]+$"):
            load(path)


@settings(deadline=None, max_examples=200)
@given(text=st.text(max_size=200))
def test_no_text_ends_in_a_traceback(tmp_path_factory, text: str) -> None:  # type: ignore[no-untyped-def]  # pytest's own factory
    path = tmp_path_factory.mktemp("toml") / "doctor.toml"
    path.write_text(text, encoding="utf-8", errors="replace")

    try:
        load(path)
    except ConfigurationError as error:
        said = str(error)
    else:
        said = ""
    assert "\n" not in said


THIRD_PARTY = '''
"""The reward is exactly seven: the acme checker is switched off."""

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature

SIGNATURE = Signature(
    id="ACME_SEVEN",
    stage="reward",
    severity="critical",
    arm="exact",
    requires=("reward_mean",),
    shows=("reward_mean",),
    title="The acme checker is off",
    explanation="The reward is {after} in every row.",
    record="Log the mean reward as reward_mean.",
    remedies=(Advice(text="Switch it on."),),
)


def judge(rows: Rows) -> Judgement:
    seven = rows.series("reward_mean").values == 7.0
    return Judgement(fires=seven, log_evidence=rows.exact(seven), since=rows.streak("seven", seven, rows.every))
'''

ASK = """
import numpy as np
from rlprobe.doctor.catalog import entry, page
from rlprobe.doctor.configuration import load
from rlprobe.doctor.engine import diagnose
from rlprobe.recording.run import MemoryFeed, Run, batch_from_columns
run = lambda: Run(MemoryFeed("m", [batch_from_columns(np.arange(30), {"reward_mean": np.full(30, 7.0)})]))
found = [f.id for f in diagnose(run()).findings]
off = [f.id for f in diagnose(run(), configuration=load("off.toml")).findings]
print(entry("acme-seven").signature.id, "ACME_SEVEN" in found, "ACME_SEVEN" in off, page("ACME_SEVEN").splitlines()[0])
"""


NOTES = """
import numpy as np
from rlprobe.doctor.catalog import entries
from rlprobe.doctor.engine import diagnose
from rlprobe.recording.run import MemoryFeed, Run
print(len(entries()), *diagnose(Run(MemoryFeed("m", []))).notes, sep="\\n")
"""


def _installed(
    folder: Path, *, target: str = "acme.seven", ask: str = ASK, page: bool = True
) -> subprocess.CompletedProcess[str]:
    """A distribution with one entry point, as an installer leaves it, and what a process beside it sees."""
    package, info = folder / "acme", folder / "acme-1.0.dist-info"
    package.mkdir()
    info.mkdir()
    (package / "__init__.py").write_text("")
    (package / "seven.py").write_text(THIRD_PARTY)
    if page:
        (package / "seven.md").write_text("# ACME_SEVEN\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[rlprobe.signatures]\nseven = {target}\n")
    (folder / "off.toml").write_text("[signatures.ACME_SEVEN]\nenabled = false\n")
    return subprocess.run(
        [sys.executable, "-c", ask],
        cwd=folder,
        env={"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_an_installed_package_brings_its_own_signature(tmp_path: Path) -> None:
    seen = _installed(tmp_path)

    assert seen.stderr == ""
    assert seen.stdout == "ACME_SEVEN True False # ACME_SEVEN\n"


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("acme.eight", "ModuleNotFoundError: No module named 'acme.eight'"),
        ("acme", "AttributeError: module 'acme' has no attribute 'SIGNATURE'"),
        ("rlprobe.doctor.signatures.reward.no_learning", "ValueError: its id NO_LEARNING is taken"),
    ],
)
def test_a_signature_that_cannot_be_loaded_costs_itself_and_a_note(tmp_path: Path, target: str, reason: str) -> None:
    seen = _installed(tmp_path, target=target, ask=NOTES)

    assert seen.stderr == ""
    assert seen.stdout.splitlines() == [
        str(len(entries())),
        f"The signature {target} of another package was left out: {reason}.",
    ]


def test_a_signature_without_a_page_is_explained_by_its_own_words(tmp_path: Path) -> None:
    seen = _installed(tmp_path, ask="from rlprobe.doctor.catalog import page; print(page('ACME_SEVEN'))", page=False)

    assert seen.stderr == ""
    assert seen.stdout.split("\n", 1) == [
        "# ACME_SEVEN",
        "\nThe reward is exactly seven: the acme checker is switched off.\n\n",
    ]
