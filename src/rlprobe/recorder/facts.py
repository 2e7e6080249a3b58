"""What the manifest says of a run: how it was called before, this session, and facts as callers tell them."""

import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict

from rlprobe.recorder.environment import redact
from rlprobe.recorder.opening import Opened


def new_document(opened: Opened, options: Mapping[str, object]) -> dict[str, object]:
    """The manifest of the new segment: what the run was called before, and this session."""
    now = round(time.time(), 3)
    document: dict[str, object] = {"run_id": uuid.uuid4().hex[:12], "created": now, **opened.document}
    before = document.get("segments")
    session = {"index": opened.segment, "started": now, **options}
    document["segments"] = [*(before if isinstance(before, list) else ()), session]
    document["state"] = "recording"
    document.pop("counts", None) if opened.segment == 0 else None
    return document


def entered(document: dict[str, object], facts: Mapping[str, object]) -> dict[str, object]:
    """The document with the facts that are known; configuration and settings are redacted here."""
    for name, value in facts.items():
        if value is None or value == "":
            document.setdefault(name, "") if isinstance(value, str) else None
        elif name == "metrics" and isinstance(value, Mapping):
            document[name] = {str(key): asdict(each) for key, each in value.items()}
        else:
            document[name] = redact(_mapping(value) if name == "configuration" else value, "")
    return document


def learnt(document: dict[str, object], changes: Mapping[str, object]) -> None:
    """Enter facts that came later; settings and metadata of metrics are added to those that are there."""
    for name, value in changes.items():
        before = document.get(name)
        merges = isinstance(value, Mapping) and isinstance(before, Mapping) and name != "environment"
        document[name] = {**before, **value} if merges else value  # type: ignore[dict-item]  # both are mappings


def _mapping(config: object) -> Mapping[str, object]:
    """A configuration as a mapping, whatever object it came as."""
    if isinstance(config, Mapping):
        return config
    try:
        found = config.to_dict() if hasattr(config, "to_dict") else vars(config)
        return found if isinstance(found, Mapping) else {"value": str(config)}
    except Exception as error:  # a foreign object's own code ran
        return {"unreadable": type(error).__name__}
