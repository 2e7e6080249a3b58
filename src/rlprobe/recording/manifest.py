"""manifest.json: what is known of the run as a whole, and the sessions that wrote it."""

import contextlib
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from rlprobe.recording.files import replace_bytes, writer_alive
from rlprobe.recording.frames import journal_files
from rlprobe.recording.layout import FORMAT, MAJOR, MANIFEST, MINOR
from rlprobe.recording.run import Manifest, Metadata, State

_STATES: Mapping[object, State] = {"recording": "recording", "closed": "closed", "crashed": "crashed"}
_LARGEST = 1 << 26  # bytes of a manifest; a larger one is damage
Document = dict[str, object]


class UnreadableRecording(ValueError):
    """The directory cannot be read as a recording; the message is one line that says what to do."""


def load_manifest(root: Path) -> Document | None:
    """The manifest; None where it is missing or damaged.

    Raises:
        UnreadableRecording: it is of a newer major version, or of another format.
    """
    try:
        with (root / MANIFEST).open("rb") as file:
            told = file.read(_LARGEST + 1)
        document = json.loads(told) if len(told) <= _LARGEST else None
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    if document.get("format") != FORMAT:
        raise UnreadableRecording(
            f"{root}: expected a recording, got a {MANIFEST} whose format is {str(document.get('format'))[:40]!r}. "
            "Name the run's directory or its log file."
        )
    version = str(document.get("version", "")).split(".")[0]
    if version.isdigit() and int(version) > MAJOR:
        raise UnreadableRecording(
            f"{root}: expected format version {MAJOR}, got {document.get('version')}. Upgrade rlprobe to read it."
        )
    return document


def save_manifest(root: Path, document: Document) -> None:
    """Replace the manifest.

    Raises:
        OSError: the disk refused; the old manifest is untouched.
    """
    whole = {"format": FORMAT, "version": f"{MAJOR}.{MINOR}", **document}
    replace_bytes(root / MANIFEST, json.dumps(plain(whole), ensure_ascii=False, indent=1).encode("utf-8", "replace"))


def plain(value: object, depth: int = 12) -> object:
    """The value as JSON can hold it: non-finite floats as their names, foreign objects as their text."""
    if isinstance(value, str) or value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return (
            float(value)
            if math.isfinite(value)
            else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(float(value))]
        )
    if isinstance(value, int):
        return int(value) if value.bit_length() <= 64 else str(value)[:400] if value.bit_length() < 4000 else "integer"
    if depth == 0:
        return "..."
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, depth - 1) for item in value]
    try:
        item = value.item() if hasattr(value, "item") else value  # a numpy or torch scalar
        return plain(item, depth - 1) if isinstance(item, (int, float)) else str(value)[:400]
    except Exception as error:  # a foreign object's own code ran
        return f"<{type(value).__name__}: {type(error).__name__}>"


def next_segment(root: Path, document: Document | None, others: Iterable[int] = ()) -> int:
    """The index of a new session: one above every index that the manifest, the journal or `others` name."""
    known = [-1, *others]
    listed = document.get("segments") if document else None
    for entry in listed if isinstance(listed, list) else ():
        with contextlib.suppress(KeyError, TypeError, ValueError):
            known.append(int(entry["index"]))
    for stream in ("steps", "samples"):
        known.extend(file.segment for file in journal_files(root, stream))
    return max(known) + 1


def state_of(root: Path, document: Document | None) -> State:
    """Whether more rows can come: a run whose writer died without a word has crashed."""
    state = _STATES.get(document.get("state") if document else None, "unknown")
    return "crashed" if state in ("recording", "unknown") and writer_alive(root) is False else state


def manifest_of(root: Path, document: Document | None) -> Manifest:
    """The manifest in the words of a Run."""
    document = document or {}

    def mapping(name: str) -> dict[str, object]:
        value = document.get(name)
        return {str(key): item for key, item in value.items()} if isinstance(value, dict) else {}

    inferred = document.get("inferred_settings")
    return Manifest(
        format="recording",
        algorithm=_string(document.get("algorithm")),
        framework=_string(document.get("framework")),
        run_id=_string(document.get("run_id")),
        settings=mapping("settings"),
        inferred_settings=frozenset(map(str, inferred)) if isinstance(inferred, list) else frozenset(),
        configuration=mapping("configuration"),
        environment=mapping("environment"),
        state=state_of(root, document),
        raw=document,
    )


def metadata_of(document: Document | None) -> dict[str, Metadata]:
    """What the manifest says of single columns; fields that this version does not know are left out."""
    listed = (document or {}).get("metrics")
    fields = Metadata.__dataclass_fields__
    out: dict[str, Metadata] = {}
    for name, entry in listed.items() if isinstance(listed, dict) else ():
        if isinstance(entry, dict):
            known = {
                key: bool(value) if key == "inferred" else _string(value)
                for key, value in entry.items()
                if key in fields
            }
            out[str(name)] = Metadata(**known)  # type: ignore[arg-type]  # keys and types were just checked
    return out


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
