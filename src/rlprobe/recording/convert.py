"""Recordings made of other things: of any Run, of a damaged recording, of one whose texts may not leave the house."""

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np

from rlprobe.recording.columns import Rows
from rlprobe.recording.event_log import event_line
from rlprobe.recording.files import make_directory, replace_bytes
from rlprobe.recording.layout import EVENTS, FLOAT16, INT32, SAMPLES, SEGMENT, SEQUENCE, STEP, is_text, part_name
from rlprobe.recording.manifest import UnreadableRecording, load_manifest, plain, save_manifest
from rlprobe.recording.merging import Merged
from rlprobe.recording.parquet import write_steps
from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Batch, Manifest, Run, Samples
from rlprobe.recording.samples import PART_ROWS, write_columns

_CONFIGURATION_TEXT = frozenset(("command",))  # parts of the environment that can hold anything


def write_recording(run: Run, target: str | Path) -> Path:
    """A closed recording of everything in a Run: rows, overwritten rows, events, samples, settings.

    Args:
        run: from a recording or from an importer.
        target: a directory that is not there yet, or empty.

    Returns:
        the directory.
    Raises:
        UnreadableRecording: the target is taken.
        OSError: the disk refused.
    """
    return _write(run, target, samples=run.samples(), raw={})


def export(path: str | Path, target: str | Path, *, text: bool = False) -> Path:
    """A copy of a recording, by default without any text of prompts and completions.

    Prompt ids (hashes), numbers, token counts and events stay; token ids go with the texts, because a tokenizer turns
    them back into text, and so do custom text columns, tracebacks' messages and the command line.

    Raises:
        UnreadableRecording: there is no recording at `path`, or the target is taken or lies inside it.
        OSError: the disk refused.
    """
    run = Run(RecordingFeed(path))
    if Path(target).resolve().is_relative_to(Path(path).resolve()):
        raise UnreadableRecording(f"{target}: expected a path outside the recording, got one inside. Name another.")
    samples = run.samples()
    raw = dict(run.manifest.raw)
    if not text:
        samples = Samples(columns=_without_text(samples.columns), rows=samples.rows)
        raw["exported"] = "without text"
    root = _write(run, target, samples=samples, raw=raw, text=text)
    for rank in RecordingFeed(path).ranks[1:]:
        export(Path(path) / f"rank-{rank:03d}", root / f"rank-{rank:03d}", text=text)
    return root


def repair(path: str | Path, target: str | Path) -> Path:
    """A whole copy of a damaged recording: everything that can still be read, in order, once.

    Raises:
        UnreadableRecording: there is no recording at `path`, or the target is taken.
        OSError: the disk refused.
    """
    root = export(path, target, text=True)
    document = load_manifest(root) or {}
    save_manifest(root, {**document, "repaired": True})
    return root


_KEPT_TEXT = frozenset(("prompt_id", "group", "generation", "stop_reason", "kl_estimator", "capture_reason"))


def _without_text(columns: Mapping[str, object]) -> dict[str, object]:
    return {
        name: column
        for name, column in columns.items()
        if not is_text(name) and name != "token_ids" and (name in _KEPT_TEXT or not _holds_text(column))
    }


def _holds_text(column: object) -> bool:
    return isinstance(column, list) and any(isinstance(value, str) for value in column)


def _write(run: Run, target: str | Path, *, samples: Samples, raw: Mapping[str, object], text: bool = True) -> Path:
    root = Path(target)
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise UnreadableRecording(f"{root}: expected a path that is free, got one that is taken. Name another.")
    make_directory(root)
    parts = [_rows(batch) for batch in run.overwritten] + [_current(run)]
    merged = [Merged(rows=rows) for rows in _numbered(parts) if len(rows)]
    last = max((int(part.rows.sequences[-1]) for part in merged), default=0)
    segments = sorted({int(s) for part in merged for s in np.unique(part.rows.segments)} or {0})
    if merged:
        write_steps(root / "steps.parquet", None, merged, (segments[-1], last))
    _write_events(root, run, text=text)
    _write_samples(root, samples)
    save_manifest(root, _document(run, segments, raw, text=text))
    return root


def _document(run: Run, segments: list[int], raw: Mapping[str, object], *, text: bool) -> dict[str, object]:
    manifest: Manifest = run.manifest
    environment = {n: v for n, v in manifest.environment.items() if text or n not in _CONFIGURATION_TEXT}
    known = raw.get("segments")
    return {
        "run_id": manifest.run_id or uuid.uuid4().hex[:12],
        "algorithm": manifest.algorithm,
        "framework": manifest.framework,
        "source_format": manifest.format,
        "settings": manifest.settings,
        "inferred_settings": sorted(manifest.inferred_settings),
        "configuration": manifest.configuration,
        **{name: value for name, value in raw.items() if name not in ("format", "version")},
        "environment": environment,
        "segments": known if isinstance(known, list) else [{"index": index} for index in segments],
        "metrics": {name: asdict(run.metadata(name)) for name in run.metrics},
        "counts": {"dropped": run.reading.dropped, "bad_values": run.reading.bad_values},
        "notes": list(run.reading.notes),
        "state": "crashed" if manifest.state == "crashed" else "closed",
    }


def _rows(batch: Batch) -> Rows:
    segments = np.zeros(len(batch.steps), dtype=np.int64) if batch.segments is None else batch.segments
    return Rows(steps=batch.steps, segments=segments, sequences=np.zeros_like(batch.steps), columns=batch.columns)


def _current(run: Run) -> Rows:
    columns = {name: (run.column(name), run.logged(name)) for name in run.metrics}
    return Rows(steps=run.steps, segments=run.row_segments, sequences=np.zeros_like(run.steps), columns=columns)


def _numbered(parts: Sequence[Rows]) -> Iterable[Rows]:
    """One piece a segment, rows in ascending steps, with ascending sequence numbers over all."""
    number = 0
    for segment in sorted({int(s) for rows in parts for s in np.unique(rows.segments)}):
        for rows in parts:
            own = rows.take(rows.segments == segment)
            if len(own):
                sequences = np.arange(number, number + len(own), dtype=np.int64)
                number += len(own)
                yield Rows(steps=own.steps, segments=own.segments, sequences=sequences, columns=own.columns)


def _write_events(root: Path, run: Run, *, text: bool) -> None:
    lines = []
    for number, event in enumerate(run.events):
        fields = {name: value for name, value in event.fields.items() if name not in (SEGMENT, SEQUENCE)}
        if not text:
            fields = {name: value for name, value in fields.items() if name not in ("message", "traceback", "value")}
        segment = event.fields.get(SEGMENT)
        sequence = event.fields.get(SEQUENCE)
        line = event_line(
            event.kind,
            step=event.step,
            time=event.time or 0.0,
            segment=segment if isinstance(segment, int) else 0,
            sequence=sequence if isinstance(sequence, int) else number,
            fields=fields,
        )
        lines.append(line)
    replace_bytes(root / EVENTS, b"".join(lines))


def _write_samples(root: Path, samples: Samples) -> None:
    if samples.rows == 0:
        return
    make_directory(root / SAMPLES)
    columns = {name: _plain_column(column) for name, column in samples.columns.items()}
    columns.setdefault(SEGMENT, [0] * samples.rows)
    columns.setdefault(SEQUENCE, list(range(samples.rows)))
    columns.setdefault(STEP, [0] * samples.rows)
    for number, start in enumerate(range(0, samples.rows, PART_ROWS)):
        piece = {name: list(islice(values, start, start + PART_ROWS)) for name, values in columns.items()}
        covers = max(zip(piece[SEGMENT], piece[SEQUENCE], strict=True))
        write_columns(root / SAMPLES / part_name(number), piece, (int(str(covers[0])), int(str(covers[1]))))


def _plain_column(column: object) -> list[object]:
    """A Run's column as a part's: arrays of tokens packed, NaN kept as NaN, what is no scalar as JSON."""
    values: Sequence[object] = column.tolist() if isinstance(column, np.ndarray) else list(column)  # type: ignore[call-overload]  # a list by contract
    return [value if isinstance(value, _SCALARS) or value is None else _packed(value) for value in values]


_SCALARS = (str, int, float, bool)


def _packed(value: object) -> object:
    if isinstance(value, np.ndarray):
        whole = value.dtype.kind in "iub"
        return msgspec.msgpack.Ext(INT32 if whole else FLOAT16, value.astype("<i4" if whole else "<f2").tobytes())
    return json.dumps(plain(value), ensure_ascii=False)
