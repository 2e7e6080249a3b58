"""Masked tokens in the middle (tool output) are no transitions: the row has the advantages of the row without them."""

import numpy as np

from rlprobe.recording.run import BoolArray, FloatArray
from rlprobe.verifier.measure.advantages import TOLERANCE
from rlprobe.verifier.measure.advantages_temporal import TOKENS, Gae, episode, expected, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed, warned
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V224",
    title="masked tokens in the middle are no transitions of GAE",
    formula="A(row with a hole)[mask] = A(row without the hole)",
    stage="advantages",
    category="masks and alignment",
    needs=("gae",),
    fix="At a masked token keep both the carried advantage and the next value as they are.",
    causes=("VALUE_DIVERGENCE",),
)


def run(subject: Subject) -> Outcome:
    """A hole of two tokens, against the row without it and against the two simplifications made for single turns."""
    gae = measured(subject)
    if not gae.function.takes("mask"):
        return not_applicable("the function takes no mask")
    values = episode(subject.rng(CHECK.id))
    mask = np.ones((3, TOKENS), dtype=bool)
    mask[0, 2:4] = False
    mask[1, 1] = False
    values["mask"] = mask
    gamma, lam = gae.pairs()[min(1, len(gae.pairs()) - 1)]
    gap = gae.off(values, gamma, lam)
    if gap <= TOLERANCE:
        return passed("the mask may have holes")
    told = f"With masked tokens in the middle of a row, advantages are off by {gap:.3g} of the largest."
    fact = {
        "expected": shown(expected(values, gamma, lam)[0]),
        "got": shown(gae(values, gamma, lam)[0]),
    }
    simplified = _simplified(gae, values, mask, gamma, lam)
    example = gae.arguments(values, gamma, lam)
    if simplified:
        return warned(
            "gae", f"{told} Right for single-turn completions only.", fingerprint=simplified, example=example, **fact
        )
    return failed("gae", told, example=example, **fact)


def _simplified(gae: Gae, values: dict[str, object], mask: BoolArray, gamma: float, lam: float) -> str:
    """The simplification that gives these numbers; "" where none does."""
    found = gae(values, gamma, lam)
    rewards = np.where(mask, np.asarray(values["rewards"]), 0.0)
    critic = np.where(mask, np.asarray(values["values"]), 0.0)
    walked = expected({"rewards": rewards, "values": critic}, gamma, lam)
    if gae.gap(found, walked, mask) < TOLERANCE:
        return "a hole counts as transitions without reward and value"
    if gae.gap(found, _cut(rewards, critic, mask, gamma, lam), mask) < TOLERANCE:
        return "a hole ends the episode"
    return ""


def _cut(rewards: FloatArray, critic: FloatArray, mask: BoolArray, gamma: float, lam: float) -> FloatArray:
    """Advantages of rows whose every unbroken run of tokens is an episode of its own."""
    result = np.zeros_like(rewards)
    for row in range(len(mask)):
        borders = np.flatnonzero(np.diff(np.concatenate([[0], mask[row].astype(int), [0]])))
        for start, stop in zip(borders[::2], borders[1::2], strict=True):
            part = {"rewards": rewards[row : row + 1, start:stop], "values": critic[row : row + 1, start:stop]}
            result[row, start:stop] = expected(part, gamma, lam)[0]
    return result
