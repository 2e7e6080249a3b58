"""Snapshots: what a page looked like when somebody last read it. RLPROBE_UPDATE_SNAPSHOTS=1 writes them anew."""

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "snapshots"


def check(name: str, text: str) -> None:
    """Compare with the stored page; with the switch set, store the new one instead."""
    path = FOLDER / name
    if os.environ.get("RLPROBE_UPDATE_SNAPSHOTS") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), f"{name}: no snapshot. Run with RLPROBE_UPDATE_SNAPSHOTS=1 and read what it writes."
    assert text == path.read_text(encoding="utf-8")
