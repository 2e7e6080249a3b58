"""Is a directory what docs/recording-format.md says? One function a rule, each with the id that the document has."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np

from rlprobe.recording.damage import DAMAGE, open_parquet, parse_covers
from rlprobe.recording.event_log import MAX_LINE
from rlprobe.recording.files import rank_folders
from rlprobe.recording.frames import NOTHING, read_journals
from rlprobe.recording.layout import EVENTS, MANIFEST, SAMPLES, SEGMENT, SEQUENCE, STEP, STEPS
from rlprobe.recording.manifest import UnreadableRecording, load_manifest
from rlprobe.recording.merging import decode_steps
from rlprobe.recording.parquet import StepsFile
from rlprobe.recording.reader import check
from rlprobe.recording.samples import part_files, pending_samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A rule that the directory breaks: the rule's id, the file, and one sentence."""

    id: str
    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the format: its id, what it demands, and the function that finds what breaks it."""

    id: str
    demand: str
    find: Callable[[Path], Iterator[tuple[str, str]]]


def validate(path: str | Path) -> list[Problem]:
    """Everything in a recording that breaks a rule of the format, ranks included; empty for a sound one.

    A torn last frame or line is what a killed process leaves; it is told as JOURNAL_WHOLE or EVENTS_WHOLE.

    Raises:
        UnreadableRecording: there is no recording at `path`, or one of a newer major version.
    """
    root = Path(path)
    check(root)
    return [
        Problem(id=rule.id, where=f"{folder.relative_to(root) / where}", text=text)
        for folder in (root, *rank_folders(root).values())
        for rule in RULES
        for where, text in rule.find(folder)
    ]


def _manifest_there(root: Path) -> Iterator[tuple[str, str]]:
    try:
        if load_manifest(root) is None:
            yield MANIFEST, "missing, or not a JSON object"
    except UnreadableRecording as error:
        yield MANIFEST, str(error)


def _manifest_facts(root: Path) -> Iterator[tuple[str, str]]:
    try:
        document = load_manifest(root) or {}
    except UnreadableRecording:
        return
    expected: tuple[tuple[str, type], ...] = (("version", str), ("run_id", str), ("state", str), ("segments", list))
    for name, kind in expected if document else ():
        if not isinstance(document.get(name), kind):
            yield MANIFEST, f"{name}: expected {kind.__name__}, got {type(document.get(name)).__name__}"
    if document and document.get("state") not in ("recording", "closed", "crashed"):
        yield MANIFEST, f"state: expected recording, closed or crashed, got {str(document.get('state'))[:40]!r}"


def _steps_readable(root: Path) -> Iterator[tuple[str, str]]:
    try:
        file = StepsFile.open(root / STEPS)
        for _ in file.groups() if file else ():
            pass
    except DAMAGE as error:
        yield STEPS, f"cannot be read: {type(error).__name__}"
        return
    if file and file.covers == NOTHING:
        yield STEPS, "has no rlprobe.covers in its metadata: readers cannot tell which frames it holds"


def _steps_once(root: Path) -> Iterator[tuple[str, str]]:
    try:
        file = StepsFile.open(root / STEPS)
        pairs = [np.stack([rows.segments, rows.steps], axis=1) for rows in file.groups()] if file else []
    except DAMAGE:
        return
    if pairs:
        keys = np.concatenate(pairs)
        double = len(keys) - len(np.unique(keys, axis=0))
        if double:
            yield STEPS, f"{double} rows repeat the segment and step of another"


def _parts_readable(root: Path) -> Iterator[tuple[str, str]]:
    for path in part_files(root):
        try:
            file = open_parquet(path)
            table = file.read()
            missing = {STEP, SEGMENT, SEQUENCE} - set(table.column_names)
            if missing:
                yield f"{SAMPLES}/{path.name}", f"lacks {', '.join(sorted(missing))}"
            elif parse_covers(file.metadata.metadata) == NOTHING:
                yield f"{SAMPLES}/{path.name}", "has no rlprobe.covers in its metadata"
        except DAMAGE as error:
            yield f"{SAMPLES}/{path.name}", f"cannot be read: {type(error).__name__}"


def _journal_whole(root: Path) -> Iterator[tuple[str, str]]:
    for content in read_journals(root, "steps"):
        foreign = decode_steps(content.payloads)[1]
        if content.unreadable or foreign:
            where = str(content.file.path.relative_to(root))
            yield where, f"{content.unreadable} stretches are no whole frame, {foreign} frames are not as described"
    for file, _, unreadable in pending_samples(root, NOTHING):
        if unreadable:
            yield str(file.path.relative_to(root)), f"{unreadable} stretches or frames cannot be read"


def _journal_ascends(root: Path) -> Iterator[tuple[str, str]]:
    for content in read_journals(root, "steps"):
        frames = decode_steps(content.payloads)[0]
        where = str(content.file.path.relative_to(root))
        if any(second.sequence <= first.last for first, second in pairwise(frames)):
            yield where, "sequence numbers do not ascend"
        if frames and frames[0].sequence < content.file.first:
            yield where, f"begins with frame {frames[0].sequence}, before the number in its name"


def _events_whole(root: Path) -> Iterator[tuple[str, str]]:
    try:
        with (root / EVENTS).open("rb") as file:
            yield from _lines_whole(file)
    except OSError:
        return


def _lines_whole(file: BinaryIO) -> Iterator[tuple[str, str]]:
    number = 0
    while line := file.readline(MAX_LINE):
        number += 1
        if not line.endswith(b"\n"):
            if len(line) < MAX_LINE:
                yield EVENTS, "the last line has no end"
                return
            yield EVENTS, f"line {number} is longer than {MAX_LINE >> 20} MiB"
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE)
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            yield EVENTS, f"line {number} is no JSON"
            continue
        if not isinstance(record, dict) or not isinstance(record.get("kind"), str):
            yield EVENTS, f"line {number}: expected an object with a kind"


RULES: tuple[Rule, ...] = (
    Rule("MANIFEST_THERE", "manifest.json is a JSON object of this format and major version.", _manifest_there),
    Rule("MANIFEST_FACTS", "It names version, run_id, state and segments.", _manifest_facts),
    Rule("STEPS_READABLE", "steps.parquet is whole and says what it covers.", _steps_readable),
    Rule("STEPS_ONCE", "steps.parquet has one row for each segment and step.", _steps_once),
    Rule(
        "PARTS_READABLE", "Every part is whole, has the format's own columns and says what it covers.", _parts_readable
    ),
    Rule("JOURNAL_WHOLE", "Every journal file is a sequence of whole frames.", _journal_whole),
    Rule("JOURNAL_ASCENDS", "Sequence numbers ascend in a file and do not fall below its name's.", _journal_ascends),
    Rule("EVENTS_WHOLE", "Every line of events.jsonl is a JSON object with a kind.", _events_whole),
)
