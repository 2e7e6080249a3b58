"""What an answer leads on to can be typed: every command parses, every page exists, every line is told as one."""

import json
import re
import shlex
from pathlib import Path

import pytest

from rlprobe import Pipeline, diagnose, open_run, verify
from rlprobe.cli import COMMANDS, load, main
from rlprobe.cli.arguments import parser_of
from rlprobe.doctor import catalog
from rlprobe.reports import next_steps
from rlprobe.reports.json import render
from rlprobe.verifier import catalog as verifier
from rlprobe.verifier.pipeline import FUNCTIONS
from tests.docs.blocks import ROOT
from tests.forensics.recordings import record

HANDED_OVER = re.compile(r"Pipeline\((?P<given>.+)\) in TARGET, then: ")
FLAT = {"step": 1, "reward": 0.5, "reward_std": 0.0, "kl": 0.0, "loss": 0.0}


def _check(command: str) -> None:
    """Assert that a command of `next` takes its words, and that what it names is there."""
    if found := HANDED_OVER.match(command):
        compile(f"Pipeline({found['given'].replace('...', 'None')})", "next", "eval")
        command = command[found.end() :]
    program, name, *words = shlex.split(command)
    assert program == "rlprobe"
    assert name in COMMANDS
    args = parser_of(name, load(name)).parse_args(words)
    if name == "explain":
        known = {entry.signature.id for entry in catalog.entries()} | {one.check.id for one in verifier.entries()}
        assert args.id in known
    if name == "verify" and args.only:
        assert verifier.chosen(args.only)


@pytest.fixture(scope="module")
def report() -> dict[str, object]:
    example: dict[str, object] = {}
    exec((ROOT / "examples" / "verify_pipeline.py").read_text(encoding="utf-8"), example)
    pipeline = Pipeline(advantages=example["wrong_advantages"], declare={"algorithm": "grpo"})
    tree: dict[str, object] = json.loads(verify(pipeline, only="reward,advantages,reference").to_json())
    return tree


def test_a_verification_leads_to_the_page_the_check_the_comparison_and_what_is_missing(
    report: dict[str, object],
) -> None:
    told = report["next"]

    assert isinstance(told, list)
    assert told[:3] == [
        "rlprobe explain V203",
        "rlprobe verify TARGET --only V203",
        "rlprobe verify TARGET --diff REPORT.json",
    ]
    assert "rlprobe verify --reward MODULE:FUNCTION" in told
    for command in told:
        _check(command)


def test_every_check_that_is_not_settled_says_what_comes_next(report: dict[str, object]) -> None:
    checks = report["checks"]
    assert isinstance(checks, list)
    statuses = {check["status"] for check in checks}

    assert {"pass", "fail", "not_checkable"} <= statuses
    for check in checks:
        silent = check["status"] == "not_checkable" and not check["missing"]
        assert bool(check["next"]) == (check["status"] in ("fail", "warn", "not_checkable") and not silent), check["id"]
        if check["next"]:
            _check(check["next"])


@pytest.mark.parametrize(
    ("id", "kind", "leads"), [("V301", "check", 1), ("kl_blowup", "signature", 1), ("LOSS_NEAR_ZERO", "reassurance", 0)]
)
def test_a_page_tells_its_kind_and_how_to_try_ones_code(
    id: str, kind: str, leads: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", id, "--json"]) == 0

    page = json.loads(capsys.readouterr().out)
    assert page["schema"] == "rlprobe.page/1"
    assert (page["id"], page["kind"], len(page["next"])) == (id.upper(), kind, leads)
    assert page["title"]
    for command in page["next"]:
        _check(command)


def test_what_a_command_line_can_fill_are_slots_of_a_pipeline() -> None:
    assert set(FUNCTIONS) <= set(Pipeline.__dataclass_fields__)
    options = [f"--{name.replace('_', '-')} M:f" for name in FUNCTIONS]
    _check(f"rlprobe verify {' '.join(options)}")


@pytest.fixture
def failing(tmp_path: Path) -> Path:
    path = tmp_path / "a log.jsonl"
    path.write_text("".join(json.dumps(FLAT | {"step": step}) + "\n" for step in range(1, 61)))
    return path


def test_a_diagnosis_leads_to_the_pages_of_its_roots_and_their_checks(failing: Path) -> None:
    diagnosis = diagnose(open_run(failing))

    told = json.loads(render(diagnosis))["next"]
    assert diagnosis.verdict in ("failing", "attention")
    assert told[0] == f"rlprobe explain {diagnosis.findings[0].page}"
    assert any(command.startswith("rlprobe show ") and str(failing) in shlex.split(command) for command in told)
    for command in told:
        _check(command)


def test_what_came_from_standard_input_is_not_asked_again(failing: Path) -> None:
    diagnosis = diagnose(open_run(failing))
    fields = {name: getattr(diagnosis, name) for name in diagnosis.__slots__}

    told = next_steps.of_diagnosis(type(diagnosis)(**fields | {"source": "-"}))
    assert told
    assert not any("-" in shlex.split(command)[2:3] for command in told)
    assert next_steps.of_samples("-", {"step": 1, "sample": 2}) == []


def test_a_list_of_runs_leads_to_the_diagnosis_of_what_is_not_healthy(
    failing: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ls", str(failing.parent), "--json"]) == 0

    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["next"] == [f"rlprobe doctor '{failing}' --json"]
    _check(run["next"][0])


def test_samples_lead_to_the_whole_of_the_first_and_to_its_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(record(tmp_path / "run", {3: [{"prompt": "p", "completion": "c", "reward": 1.0, "group": "0"}]}))

    main(["samples", run, "--json"])
    told = json.loads(capsys.readouterr().out)
    main(["samples", run, "--json", "--where", "reward > 2"])
    none = json.loads(capsys.readouterr().out)

    assert told["next"] == [f"rlprobe samples {run} --sample 3/0 --full", f"rlprobe show {run} --step 3"]
    assert none["next"] == [f"rlprobe samples {run} --columns"]
    for command in (*told["next"], *none["next"]):
        _check(command)
        assert main(shlex.split(command)[1:]) == 0
