"""Rewards are NaN, infinite or missing: one of them poisons every advantage of its group."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

SIGNATURE = Signature(
    id="REWARD_NOT_FINITE",
    stage="reward",
    severity="warning",
    arm="exact",
    requires=("reward_mean|reward_nonfinite_count|reward_missing_count|reward_component_mean/",),
    helps=("reward_nonfinite_count", "reward_missing_count", "reward_component_mean/", "judge_errors_count"),
    shows=("reward_nonfinite_count", "reward_missing_count", "reward_mean", "judge_errors_count"),
    minimum_rows=1,
    thresholds=(
        Threshold(
            "missing",
            0.05,
            "fraction of samples",
            "without a reward from any function; fewer are skipped at little cost",
            high=1.0,
        ),
        Threshold("rows", 3, "rows", "with samples that no reward function answered for", low=1),
    ),
    aliases=("REWARD_NAN",),
    title="Rewards are not finite or are missing",
    explanation="{bad} rewards of a step are NaN or infinite and {missing} are missing: the advantages of their groups are NaN or wrong.",
    record="Log how many rewards are NaN or infinite as reward_nonfinite_count.",
    remedies=(
        Advice(
            text="Find the sample: print prompt, completion and every reward function's value where one is not finite."
        ),
        Advice(text="Return 0 or leave the sample out where a judge fails, and count how often."),
        Advice(text="Guard logarithms, divisions and timeouts inside the reward functions."),
    ),
    lasting=False,
)


def judge(rows: Rows) -> Judgement:
    """Fires at every row with a reward that is no number; on missing ones when they are many and come again."""
    counted = rows.series("reward_nonfinite_count")
    bad = np.where(counted.fresh, counted.values, 0.0)
    logged = ["reward_mean", *(f"reward_component_mean/{name}" for name in rows.members("reward_component_mean"))]
    broken = bad > 0
    for name in logged:
        # A column that is never a number is a logger's blank, and so is one beside a total that is fine.
        seen = rows.observations(name) > 0
        broken |= seen & (rows.nonfinite(name) > 0) & ~rows.series("reward_mean").fresh
    missing = rows.series("reward_missing_count")
    count = np.where(missing.fresh, missing.values, 0.0)
    absent = count > rows.limit("missing") * np.fmax(rows.series("samples_count").values, 1.0)
    absent &= rows.count("absent", absent) >= rows.limit("rows")
    wrong = broken | absent
    return Judgement(
        fires=wrong,
        log_evidence=rows.exact(wrong),
        critical=broken,
        since=rows.streak("since", wrong, rows.every, gap=15),
        facts={"bad": bad, "missing": count},
    )
