"""Recordings made of other things: of any Run, of a damaged recording, of one whose texts may not leave the house."""

import contextlib
import json
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np

from rlprobe.recording.columns import Rows
from rlprobe.recording.event_log import event_line
from rlprobe.recording.files import make_directory, rank_folders, replace_bytes, whole_directory
from rlprobe.recording.layout import EVENTS, FLOAT16, INT32, SAMPLES, SEGMENT, SEQUENCE, STEP, part_name
from rlprobe.recording.manifest import UnreadableRecording, plain, save_manifest
from rlprobe.recording.merging import Merged
from rlprobe.recording.parquet import write_steps
from rlprobe.recording.private_text import ids_without_text, short_id, tells_text
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
    samples = run.samples()
    with _free(Path(target)) as root:
        _write(run, root, samples=samples, raw={})
    return Path(target)


def export(path: str | Path, target: str | Path, *, text: bool = False) -> Path:
    """A copy of a recording, by default without any text of prompts and completions.

    Prompt ids (hashes), numbers, token counts and events stay; token ids go with the texts, because a tokenizer turns
    them back into text, and so do custom text columns, tracebacks' messages and the command line.

    Raises:
        UnreadableRecording: there is no recording at `path`, or the target is taken or lies inside it.
        OSError: the disk refused.
    """
    _copy(Path(path), Path(target), text=text, facts={} if text else {"exported": "without text"})
    return Path(target)


def repair(path: str | Path, target: str | Path) -> Path:
    """A whole copy of a damaged recording: everything that can still be read, in order, once.

    Raises:
        UnreadableRecording: there is no recording at `path`, or the target is taken or lies inside it.
        OSError: the disk refused.
    """
    _copy(Path(path), Path(target), text=True, facts={"repaired": True})
    return Path(target)


def _copy(path: Path, target: Path, *, text: bool, facts: Mapping[str, object]) -> None:
    """All ranks of a recording; the folder of a rank that holds no recording is left out."""
    feeds: dict[Path, RecordingFeed] = {Path(): RecordingFeed(path)}
    if target.resolve().is_relative_to(path.resolve()):
        raise UnreadableRecording(f"{target}: expected a path outside the recording, got one inside. Name another.")
    for folder in rank_folders(path).values():
        with contextlib.suppress(UnreadableRecording):
            feeds[Path(folder.name)] = RecordingFeed(folder)
    with _free(target) as root:
        for place, feed in feeds.items():
            run = Run(feed)
            samples = run.samples()
            if not text:
                samples = Samples(columns=_without_text(samples.columns), rows=samples.rows)
            make_directory(root / place)
            _write(run, root / place, samples=samples, raw={**run.manifest.raw, **facts}, text=text)


def _without_text(columns: Mapping[str, object]) -> dict[str, object]:
    kept = {name: column for name, column in columns.items() if not tells_text(name, column)}
    return {name: ids_without_text(name, column) for name, column in kept.items()}  # type: ignore[arg-type]  # a list or an array


def _field_without_text(value: object) -> object:
    return [short_id(each) for each in value] if isinstance(value, list) else value


@contextlib.contextmanager
def _free(target: Path) -> Iterator[Path]:
    """A folder to fill that takes the target's name once it is full."""
    if os.path.lexists(target) and (not target.is_dir() or any(target.iterdir())):
        raise UnreadableRecording(f"{target}: expected a path that is free, got one that is taken. Name another.")
    with whole_directory(target) as root:
        yield root


def _write(run: Run, root: Path, *, samples: Samples, raw: Mapping[str, object], text: bool = True) -> None:
    parts = [_rows(batch) for batch in run.overwritten] + [_current(run)]
    merged = [Merged(rows=rows) for rows in _numbered(parts) if len(rows)]
    last = max((int(part.rows.sequences[-1]) for part in merged), default=0)
    segments = sorted({int(s) for part in merged for s in np.unique(part.rows.segments)} or {0})
    if merged:
        write_steps(root / "steps.parquet", None, merged, (segments[-1], last))
    _write_events(root, run, text=text)
    _write_samples(root, samples)
    save_manifest(root, _document(run, segments, raw, text=text))


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
            kept = {name: value for name, value in fields.items() if name not in ("message", "traceback", "value")}
            fields = {name: _field_without_text(value) for name, value in kept.items()}  # group_parts lists groups
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
