"""A group holds samples of several prompts, or of one only: the baseline compares what cannot be compared."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.doctor.silence import ZERO, grouped
from rlprobe.recording.run import BoolArray

PARTIAL = 3  # rows; one or two are a last, partial batch

SIGNATURE = Signature(
    id="GROUPING_BUG",
    stage="advantages",
    severity="warning",
    arm="exact",
    requires=("mixed_prompt_group_fraction|group_size_mean|advantage_max",),
    helps=("advantage_min", "reward_max", "reward_min", "group_size_min"),
    shows=("mixed_prompt_group_fraction", "group_size_mean", "advantage_max", "reward_max", "advantage_mean"),
    minimum_rows=10,
    thresholds=(
        Threshold(
            "rows", 10, "rows", "in which the advantages must equal the rewards before that is no accident", low=1
        ),
        Threshold(
            "single", 1.5, "samples a group", "below it most groups are one sample, which has no baseline", low=1.0
        ),
    ),
    aliases=("GROUP_INDEX_BUG",),
    title="Groups do not hold the samples of one prompt",
    explanation="A group baseline needs several samples of one prompt, and nothing else. In this run {subject}, "
    "from step {onset} on.",
    record="Log the fraction of groups with more than one prompt as mixed_prompt_group_fraction, and group_size_mean.",
    remedies=(
        Advice(text="Give every sample the id of its prompt, and group by that id alone."),
        Advice(text="Sample several completions of each prompt.", setting="group_size", suggested="8"),
        Advice(text="Repeat prompts in the sampler before they are shuffled over ranks, not after."),
    ),
    lasting=True,
)


def judge(rows: Rows) -> tuple[Judgement, ...]:
    """Fires on mixed groups, on groups of one, and on advantages that are the rewards themselves."""
    if not grouped(rows):
        return ()
    mixed, size = rows.series("mixed_prompt_group_fraction"), rows.series("group_size_mean")
    confused = mixed.fresh & (mixed.values > 0)
    single = size.fresh & (size.values < rows.limit("single"))
    return (
        _one(rows, "groups mix prompts", confused, confused, PARTIAL),
        _one(rows, "groups hold one sample", single & ~confused, None, PARTIAL),
        _one(rows, "advantages equal rewards", _raw(rows) & ~confused & ~single, None, rows.limit("rows")),
    )


def _one(rows: Rows, subject: str, broken: BoolArray, critical: BoolArray | None, least: float) -> Judgement:
    wrong = broken & (rows.count(subject, broken) >= least)
    return Judgement(
        fires=wrong,
        log_evidence=rows.exact(wrong),
        holds=rows.ever(f"{subject} known", wrong),  # wrong until it is mended; logs show it now and then
        critical=critical,
        since=rows.streak(f"{subject} since", broken, rows.every, gap=10),
        subject=subject,
    )


def _raw(rows: Rows) -> BoolArray:
    """(n,) rows whose largest and smallest advantage are the largest and the smallest reward, none of them zero."""
    same = np.ones(len(rows), dtype=bool)
    for end in ("max", "min"):
        advantage, reward = rows.series(f"advantage_{end}"), rows.series(f"reward_{end}")
        close = np.abs(advantage.values - reward.values) <= ZERO * (1.0 + np.abs(reward.values))
        same &= advantage.fresh & reward.fresh & close & (np.abs(reward.values) > ZERO)
    return same
