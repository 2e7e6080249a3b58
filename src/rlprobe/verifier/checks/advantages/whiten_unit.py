"""Whitened values have deviation 1 and mean 0 (or their own mean, where that is asked for), whatever they were."""

import numpy as np

from rlprobe.recording.run import BoolArray, FloatArray
from rlprobe.verifier import inputs
from rlprobe.verifier.function import Function
from rlprobe.verifier.measure.advantages import LARGEST_EPSILON
from rlprobe.verifier.outcome import Check, Outcome, failed, passed
from rlprobe.verifier.subject import Subject, shown

NEAR = 2e-3  # of a deviation
CHECK = Check(
    id="V229",
    title="whitened values have mean 0 and deviation 1",
    formula="mean(w) = 0, var(w) = 1,  w = (x - mean) / sqrt(var + ε)",
    stage="advantages",
    category="constants",
    needs=("whiten",),
    fix="(x - mean) / sqrt(variance + epsilon) with an epsilon of 1e-8; add the mean again only where it is to stay.",
    causes=("ADVANTAGE_INVALID", "ADV_COLLAPSE"),
)


def run(subject: Subject) -> Outcome:
    """Small, usual and large values, with and without the mean, and values that are all the same."""
    function = subject.function("whiten")
    mask = inputs.mask([6, 4, 6], 6) if function.takes("mask") else np.ones((3, 6), dtype=bool)
    drawn = subject.rng(CHECK.id).normal(size=mask.shape)
    modes = (True, False) if function.takes("shift_mean") else (None,)
    for shift in modes:
        for scale in (1.0, 30.0):
            values = scale * drawn + 2.0
            arguments = _taken(function, {"values": values, "mask": mask, "shift_mean": shift})
            told = _wrong(values[mask], function(**arguments)[mask], shift=shift)
            if told:
                return _failed(function, arguments, mask, told)
    flat = _taken(function, {"values": np.full(mask.shape, 1.0), "mask": mask})
    if not np.isfinite(function(**flat)[mask]).all():
        return _failed(function, flat, mask, "Equal values give numbers that are not finite")
    return passed()


def _taken(function: Function, given: dict[str, object]) -> dict[str, object]:
    return {role: one for role, one in given.items() if function.takes(role) and one is not None}


def _wrong(before: FloatArray, after: FloatArray, *, shift: bool | None) -> str:
    count = len(before)
    means = {True: [0.0], False: [float(before.mean())], None: [0.0, float(before.mean())]}[shift]
    if not np.isfinite(after).all():
        return "Whitened values are not finite"
    shrunk = float(before.std()) / (float(before.std()) + LARGEST_EPSILON)
    deviation = float(after.std())
    if not shrunk * np.sqrt((count - 1) / count) - NEAR <= deviation <= 1.0 + NEAR:
        return f"A deviation of {before.std():.4g} becomes {deviation:.4g}"
    if min(abs(float(after.mean()) - mean) for mean in means) > NEAR:
        return f"A mean of {before.mean():.4g} becomes {after.mean():.4g}"
    if float(((before - before.mean()) * (after - after.mean())).sum()) < 0:
        return "Whitened values have the opposite order"
    return ""


def _failed(function: Function, arguments: dict[str, object], mask: BoolArray, told: str) -> Outcome:
    asked = arguments.get("shift_mean")
    return failed(
        "whiten",
        f"{told}.",
        expected=f"deviation 1, mean {'unchanged' if asked is False else 0}",
        got=shown(function(**arguments)[mask]),
        example=arguments,
    )
