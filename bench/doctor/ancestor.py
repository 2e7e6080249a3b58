"""Other doctors beside ours on the labelled real runs: `python -m bench.doctor.ancestor [--only NAME,NAME]`.

rlprobe 0.1.0, rldoctor and rlwatch are installed from the package index, each into an environment of its own under
`RLPROBE_BENCH_CACHE` (default `~/.cache/rlprobe-bench`). Each gets the runs in the way that it asks for: 0.1.0 through
its Recorder and rlwatch through `log_step`, with the names that they give the metrics which our importers recognise;
rldoctor reads the log itself. What cannot be installed is left out, and the table says so.
"""

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.support.corpus import Label, labels, opened

from bench.doctor import corpus
from bench.doctor.__main__ import LATE
from bench.recorder.environments import apart, installed
from rlprobe.recording.run import Run

_DIAGNOSE_SECONDS = 120.0
_PLACED = 0.1  # fraction of the run within which an onset counts as placed

_ANCESTOR_FIELDS: Mapping[str, str] = {
    "reward_mean": "reward_mean", "reward_std_batch": "reward_std", "reward_min": "reward_min",
    "reward_max": "reward_max", "kl_mean": "kl_mean", "kl_max": "kl_max", "entropy_mean": "entropy_mean",
    "logprob_mean": "logprob_mean", "ratio_mean": "ratio_mean", "clip_fraction": "clip_fraction",
    "advantage_mean": "adv_mean", "advantage_std": "adv_std", "reward_std_group_mean": "group_reward_std_mean",
    "zero_variance_group_fraction": "zero_variance_group_frac", "value_loss": "value_loss",
    "value_explained_variance": "value_explained_variance", "value_clip_fraction": "value_clip_fraction",
    "loss": "loss", "learning_rate": "lr", "grad_norm": "grad_norm", "weight_update_ratio": "weight_update_ratio",
    "completion_tokens_mean": "completion_len_mean", "completion_tokens_max": "completion_len_max",
    "truncated_fraction": "truncation_rate", "repetition_fraction": "repetition_rate", "step_seconds": "step_time_s",
    "generation_seconds": "generation_time_s", "optimizer_seconds": "optimization_time_s",
}  # fmt: skip
_WATCH_FIELDS: Mapping[str, str] = {
    "entropy_mean": "entropy", "kl_mean": "kl_divergence", "reward_mean": "reward_mean",
    "reward_std_batch": "reward_std", "advantage_std": "advantage_std", "loss": "loss",
    "learning_rate": "learning_rate", "clip_fraction": "clip_fraction", "grad_norm": "grad_norm",
}  # fmt: skip
_COMPONENT = "reward_component_mean/"

# The peers' names beside ours: every one of our ids that a finding of that name says as well, generously.
_READER_IDS: Mapping[str, tuple[str, ...]] = {
    "advantage_collapse": ("DEGENERATE_GROUPS", "REWARD_STD_DEATH", "ADV_COLLAPSE"),
    "entropy_collapse": ("ENTROPY_COLLAPSE",),
    "reward_hacking": ("EVAL_GAP", "REWARD_OVEROPTIMIZATION"),
    "length_pathology": ("REWARD_HACK_LENGTH", "TRUNCATION_STARVE", "LENGTH_EXPLOSION"),
    "clip_saturation": ("CLIP_SATURATION",),
    "kl_drift": ("KL_BLOWUP",),
    "gradient_pathology": ("GRAD_PATHOLOGY", "NUMERIC_NAN", "ZERO_GRADIENT"),
    "reward_composition": ("FORMAT_GAMING", "REWARD_COMPONENT_DEAD"),
    "plateau": ("NO_LEARNING",),
}
_WATCH_IDS: Mapping[str, tuple[str, ...]] = {
    "entropy_collapse": ("ENTROPY_COLLAPSE",),
    "kl_explosion": ("KL_BLOWUP",),
    "reward_hacking": ("REWARD_OVEROPTIMIZATION", "REWARD_HACK_LENGTH", "FORMAT_GAMING"),
    "advantage_variance": ("ADV_COLLAPSE", "ADVANTAGE_INVALID"),
    "loss_nan": ("NUMERIC_NAN",),
    "gradient_norm_spike": ("GRAD_PATHOLOGY",),
    "reward_mean_drift": ("REWARD_OVEROPTIMIZATION", "REWARD_SCALE_SHIFT"),
}

# Run by a peer's own interpreter. argv: the run's rows as JSONL, and a folder for what the peer writes.
_RECORD_WITH_ANCESTOR = """
import json, sys
from rlprobe.recorder import Recorder
rows = [json.loads(line) for line in open(sys.argv[1])]
with Recorder(sys.argv[2] + "/run", capture_env=False, install_handlers=False) as recorder:
    for row in rows:
        recorder.log_step(row.pop("step"), **row)
"""
_WATCH = """
import json, sys
from rlwatch import attach
rows = [json.loads(line) for line in open(sys.argv[1])]
monitor = attach(framework="manual")
told = [alert for row in rows for alert in monitor.log_step(row.pop("step"), **row)]
monitor.stop()
print("\\n" + json.dumps([[alert.detector, alert.severity, alert.step] for alert in told]))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One warning or critical finding in words of ours: ids that it answers to, and its onset where it gives one."""

    ids: frozenset[str]
    onset: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One labelled run: its log as it is, and as the Run that our importers make of it."""

    label: Label
    run: Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A doctor: the requirement that installs it, and how a run is put to it in a folder of its own."""

    name: str
    requirement: str
    ask: Callable[[Path, Case, Path], list[Told]]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="these peers alone, comma-separated")
    only = frozenset(filter(None, parser.parse_args().only.split(",")))
    cases = [Case(label=label, run=opened(label)) for label in labels() if label.verdict != "ambiguous"]
    if not cases:
        print("the labelled corpus is not here; set RLPROBE_SHARED_DATA")
        return
    print(f"{datetime.now(UTC):%d %B %Y}: {len(cases)} labelled real runs\n")
    print("| doctor | false alarms on healthy runs | failing runs named | named first | late onsets placed | failed |")
    print("|---|---|---|---|---|---|")
    print(_line("this version", cases, [_ours(one) for one in cases]), flush=True)
    for peer in PEERS:
        if only and peer.name not in only:
            continue
        folder, problem = installed(peer.requirement)
        answers = [] if problem else [_asked(peer, folder, one) for one in cases]
        print(_line(peer.name, cases, answers) if answers else f"| {peer.name} | left out: {problem} |", flush=True)


def _line(name: str, cases: Sequence[Case], answers: Sequence[list[Told] | None]) -> str:
    """One row of the table; a run on which the doctor failed counts as silence, and in the last column."""
    told = list(zip(cases, [answer or [] for answer in answers], strict=True))
    healthy = [found for case, found in told if case.label.verdict == "healthy"]
    failing = [(case, found) for case, found in told if case.label.verdict == "failing"]
    named = sum(any(_answers(one, case.label) for one in found) for case, found in failing)
    first = sum(bool(found) and _answers(found[0], case.label) for case, found in failing)
    late = [_placed(case, found) for case, found in failing if _is_late(case)]
    parts = (
        f"{sum(map(bool, healthy))}/{len(healthy)}", f"{named}/{len(failing)}", f"{first}/{len(failing)}",
        f"{sum(late)}/{len(late)}", str(sum(answer is None for answer in answers)),
    )  # fmt: skip
    return f"| {name} | {' | '.join(parts)} |"


def _answers(told: Told, label: Label) -> bool:
    return any(told.ids & corpus.answers(one) for one in label.findings)


def _is_late(case: Case) -> bool:
    onset, steps = case.label.onset_step, case.run.steps
    return onset is not None and len(steps) > 0 and onset - steps[0] > LATE * (steps[-1] - steps[0])


def _placed(case: Case, found: Iterable[Told]) -> bool:
    span = case.run.steps[-1] - case.run.steps[0]
    onsets = [one.onset for one in found if one.onset is not None and _answers(one, case.label)]
    return any(abs(onset - (case.label.onset_step or 0)) <= _PLACED * span for onset in onsets)


def _ours(case: Case) -> list[Told]:
    from rlprobe.doctor.engine import diagnose

    findings = diagnose(case.run).findings
    return [Told(ids=frozenset((one.id,)), onset=one.onset_step) for one in findings if one.severity != "info"]


def _asked(peer: Peer, programs: Path, case: Case) -> list[Told] | None:
    """What the peer says of the run; None when it fails."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return peer.ask(programs, case, Path(folder))
        except (OSError, subprocess.SubprocessError, ValueError, LookupError):
            return None


def _output(command: Sequence[str | Path], folder: Path, seconds: float = _DIAGNOSE_SECONDS) -> str:
    """Standard output of a program that does not know our own packages; doctors exit 1 when they find something."""
    done = subprocess.run(
        command, cwd=folder, env=apart(), capture_output=True, text=True, timeout=seconds, check=False
    )
    if done.returncode not in (0, 1) or "Traceback (most recent call last)" in done.stderr:
        raise subprocess.CalledProcessError(done.returncode, str(command[0]), done.stdout, done.stderr)
    return done.stdout


def _rows(case: Case, folder: Path, names: Mapping[str, str], components: str = "") -> Path:
    """The run's rows under the peer's names, as JSONL; `components` names the field of the reward functions."""
    path = folder / "rows.jsonl"
    columns = {name: (case.run.column(name).tolist(), case.run.logged(name).tolist()) for name in case.run.metrics}
    with path.open("w", encoding="utf-8") as out:
        for index, step in enumerate(case.run.steps.tolist()):
            logged = {name: values[index] for name, (values, mask) in columns.items() if mask[index]}
            row: dict[str, object] = {names[name]: value for name, value in logged.items() if name in names}
            parts = {n.removeprefix(_COMPONENT): value for n, value in logged.items() if n.startswith(_COMPONENT)}
            if components and parts:
                row[components] = parts
            out.write(json.dumps({"step": step, **row}) + "\n")
    return path


def _ask_ancestor(programs: Path, case: Case, folder: Path) -> list[Told]:
    rows = _rows(case, folder, _ANCESTOR_FIELDS, "reward_components")
    _output([programs / "python", "-c", _RECORD_WITH_ANCESTOR, rows, folder], folder)
    found = json.loads(_output([programs / "rlprobe", "doctor", "--json", folder / "run"], folder))
    return [
        Told(ids=frozenset((one["signature_id"],)), onset=one["first_step"])
        for one in found
        if one["severity"] != "info"
    ]


def _ask_reader(programs: Path, case: Case, folder: Path) -> list[Told]:
    log = folder / "run.jsonl"
    log.write_bytes(case.label.text())
    found = json.loads(_output([programs / "rldoctor", "diagnose", log, "-f", "json"], folder))["findings"]
    order = {"CRITICAL": 0, "WARNING": 1}
    alarms = sorted((one for one in found if one["severity"] in order), key=lambda one: order[one["severity"]])
    return [Told(ids=frozenset(_READER_IDS.get(one["detector"], ())), onset=None) for one in alarms]


def _ask_watch(programs: Path, case: Case, folder: Path) -> list[Told]:
    rows = _rows(case, folder, _WATCH_FIELDS)
    alerts = json.loads(_output([programs / "python", "-c", _WATCH, rows], folder).splitlines()[-1])
    return [
        Told(ids=frozenset(_WATCH_IDS.get(detector, ())), onset=step)
        for detector, severity, step in alerts
        if severity in ("warning", "critical")
    ]


PEERS = (
    Peer(name="rlprobe 0.1.0", requirement="rlprobe==0.1.0", ask=_ask_ancestor),
    Peer(name="rldoctor 0.2.0", requirement="rldoctor==0.2.0", ask=_ask_reader),
    Peer(name="rlwatch 0.5.1", requirement="rlwatch==0.5.1", ask=_ask_watch),
)

if __name__ == "__main__":
    main()
