"""Columns that are plain arithmetic on logged ones, where the log lacks the metric itself."""

from collections.abc import Mapping

import numpy as np

from rlprobe.recording.run import BoolArray, FloatArray, Metadata

_QUOTIENTS = (("truncated_fraction", "truncated_count", "samples_count"),)  # metric, numerator, denominator


def derived(columns: Mapping[str, tuple[FloatArray, BoolArray]]) -> dict[str, tuple[FloatArray, BoolArray]]:
    """The columns that follow from these, on the rows where both sources were logged."""
    out = {}
    for name, above, below in _QUOTIENTS:
        if name in columns or above not in columns or below not in columns:
            continue
        (numerator, has_numerator), (denominator, has_denominator) = columns[above], columns[below]
        logged = has_numerator & has_denominator & (denominator > 0)
        out[name] = np.where(logged, numerator / np.where(logged, denominator, 1.0), np.nan), logged
    return out


def metadata_of(name: str) -> Metadata:
    """What is known of a derived column."""
    above, below = next((above, below) for metric, above, below in _QUOTIENTS if metric == name)
    return Metadata(unit="fraction", key=f"{above} / {below}", inferred=True)
