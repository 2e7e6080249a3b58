"""A truncated completion goes on: its last token bootstraps with the value that follows; a finished one does not."""

import numpy as np

from rlprobe.verifier.measure.advantages import TOLERANCE
from rlprobe.verifier.measure.advantages_temporal import episode, expected, measured
from rlprobe.verifier.outcome import Check, Outcome, failed, not_applicable, passed
from rlprobe.verifier.subject import Subject, shown

CHECK = Check(
    id="V225",
    title="truncated rows bootstrap, finished rows do not",
    formula="V_T = last value where truncated, 0 where finished",
    stage="advantages",
    category="grouping and order",
    needs=("gae",),
    fix="Use the last value as next value after the final token where the row is truncated, 0 where it ended.",
    causes=("VALUE_DIVERGENCE", "LENGTH_COLLAPSE"),
)


def run(subject: Subject) -> Outcome:
    """Rows with a large last value: truncated, finished; and rows whose episode is done in the middle."""
    gae = measured(subject)
    takes = {role: gae.function.takes(role) for role in ("truncated", "last_values", "dones")}
    if not takes["last_values"] and not takes["dones"]:
        return not_applicable("the function takes no last value and no ends of episodes")
    values = episode(subject.rng(CHECK.id))
    gamma, lam = gae.pairs()[min(1, len(gae.pairs()) - 1)]
    if takes["last_values"]:
        last = np.array([5.0, -3.0, 4.0])
        values["last_values"] = last
        values["truncated"] = np.array([True, False, True])
        bootstraps = subject.declared.get("bootstrap_truncated")
        used = np.ones(3, dtype=bool) if not takes["truncated"] else np.array([True, False, True])
        wanted = expected({**values, "last_values": np.where(used & (bootstraps is not False), last, 0.0)}, gamma, lam)
        found = gae(values, gamma, lam)
        gap = gae.gap(found, wanted, np.ones((3, 6), dtype=bool))
        if gap > TOLERANCE:
            finished = expected({**values, "last_values": np.zeros(3)}, gamma, lam)
            always = expected(values, gamma, lam)
            whole = np.ones((3, 6), dtype=bool)
            mistakes = {"a truncated row is taken for finished": finished, "every row bootstraps": always}
            return failed(
                "gae",
                f"With last values {shown(last)}, advantages are off by {gap:.3g} of the largest.",
                expected=shown(wanted[:, -1]),
                got=shown(found[:, -1]),
                example=gae.arguments(values, gamma, lam),
                fingerprint=next((t for t, one in mistakes.items() if gae.gap(found, one, whole) < TOLERANCE), ""),
            )
    return _done(subject) if takes["dones"] else passed()


def _done(subject: Subject) -> Outcome:
    gae = measured(subject)
    values = episode(subject.rng(CHECK.id + "done"))
    gamma, lam = gae.pairs()[min(1, len(gae.pairs()) - 1)]
    dones = np.zeros((3, 6), dtype=bool)
    dones[:, 2] = True
    found = gae({**values, "dones": dones}, gamma, lam)
    rewards, critic = np.asarray(values["rewards"]), np.asarray(values["values"])
    best, wanted = float("inf"), found
    for cut in (3, 2):  # done marks the last token of an episode, or the first of the next one
        parts = [{"rewards": rewards[:, p], "values": critic[:, p]} for p in (slice(0, cut), slice(cut, 6))]
        candidate = np.concatenate([expected(part, gamma, lam) for part in parts], axis=1)
        gap = gae.gap(found, candidate, np.ones((3, 6), dtype=bool))
        if gap < best:
            best, wanted = gap, candidate
    if best > TOLERANCE:
        return failed(
            "gae",
            f"Where an episode is done, advantages are off by {best:.3g} of the largest: they reach across its end.",
            expected=shown(wanted[0]),
            got=shown(found[0]),
            example=gae.arguments({**values, "dones": dones}, gamma, lam),
        )
    return passed()
