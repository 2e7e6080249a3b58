"""One sample row as the page tells it: texts cut to a length that a page can hold, numbers by name."""

import math
from collections.abc import Mapping

import numpy as np

from rlprobe.recording.run import Samples
from rlprobe.reports.format import number
from rlprobe.reports.html.dossier import Sample, Text

LONGEST = {"prompt": 3_000, "completion": 6_000}  # characters shown
_MESSAGES = {
    "prompt": "prompt_messages",
    "completion": "completion_messages",
}  # what is shown where a text is not there
_FACTS = ("right", "stop_reason", "truncated", "logprob", "kl", "entropy", "ratio_mean", "ratio_max", "repetition")
_SCORES = ("true_reward", "score")
_FAMILY = "reward/"


def sample_of(samples: Samples, step: int, place: int) -> Sample:
    """The sample at a place of one step's rows."""
    row = {name: _plain(column[place]) for name, column in samples.columns.items()}  # type: ignore[index]  # columns are sequences by contract
    tokens = _number(row.get("completion_tokens"))
    return Sample(
        step=step,
        sample=str(row.get("sample") if row.get("sample") is not None else place),
        prompt=_text(row, "prompt"),
        completion=_text(row, "completion"),
        reward=_number(row.get("reward")),
        rewards=tuple(
            (name.removeprefix(_FAMILY), value)
            for name in row
            if (name.startswith(_FAMILY) or name in _SCORES) and (value := _number(row[name])) is not None
        ),
        advantage=_number(row.get("advantage")),
        tokens=None if tokens is None or not math.isfinite(tokens) else int(tokens),
        facts=tuple((name, _said(row[name])) for name in _FACTS if row.get(name) is not None),
    )


def _text(row: Mapping[str, object], name: str) -> Text:
    value = row.get(name)
    whole = str(row.get(_MESSAGES[name]) or "") if value is None else str(value)
    return Text(shown=whole[: LONGEST[name]], characters=len(whole))


def _plain(value: object) -> object:
    plain = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(plain, bytes) or (isinstance(plain, float) and math.isnan(plain)) else plain


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, float) else str(value)
