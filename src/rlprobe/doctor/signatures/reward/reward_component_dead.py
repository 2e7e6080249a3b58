"""One reward function never varies while the others do: its weight is wasted, or it can never match."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.doctor.silence import ZERO
from rlprobe.recording.run import BoolArray

SIGNATURE = Signature(
    id="REWARD_COMPONENT_DEAD",
    stage="reward",
    severity="info",
    arm="exact",
    requires=("reward_component_mean/",),
    helps=("reward_component_std/",),
    shows=("reward_component_mean/{subject}", "reward_component_std/{subject}", "reward_mean"),
    minimum_rows=30,
    thresholds=(
        Threshold(
            "rows", 30, "rows", "of one and the same value; a rare success shows earlier in healthy public runs", low=3
        ),
    ),
    title="One reward function never varies",
    explanation="The reward function {subject} has returned {value} for every sample of {rows} rows, while the total reward varies: it teaches nothing.",
    record="Log every reward function's mean as reward_component_mean/NAME and its spread as reward_component_std/NAME.",
    remedies=(
        Advice(text="Call it on an answer that must score and on one that must not."),
        Advice(text="Check flags and anchors of its pattern: a dot that does not match newlines is the usual reason."),
        Advice(text="Remove it, or make it easier, when the policy can never earn it."),
    ),
)


def judge(rows: Rows) -> tuple[Judgement, ...]:
    """One judgement a reward function: fires while it has never varied and the total reward has."""
    alive = rows.highest("reward_mean") - rows.lowest("reward_mean") > ZERO
    return tuple(_one(rows, name, alive) for name in rows.members("reward_component_mean"))


def _one(rows: Rows, name: str, alive: BoolArray) -> Judgement:
    mean, within = f"reward_component_mean/{name}", f"reward_component_std/{name}"
    size = ZERO * (1.0 + np.abs(np.nan_to_num(rows.series(mean).values)))
    moved = rows.highest(mean) - rows.lowest(mean) > size
    spread = rows.highest(within) > size
    count = rows.observations(mean)
    dead = alive & ~moved & ~spread & (count >= rows.limit("rows"))
    return Judgement(
        fires=dead,
        log_evidence=rows.exact(dead),
        since=np.where(dead, 0, -1),
        subject=name,
        facts={"value": rows.series(mean).values, "rows": count},
    )
