"""Groups without reward spread give no gradient: every answer right (the data is used up) or every answer wrong."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.doctor.silence import mastered, silent_groups

WINDOW = 30  # rows that the fraction is averaged over
LEAST = 25  # rows before anything is said
SLACK = 0.1  # of the groups; a finding stands until this many more have a spread

SIGNATURE = Signature(
    id="DEGENERATE_GROUPS",
    stage="advantages",
    severity="warning",
    arm="level",
    requires=("zero_variance_group_fraction|reward_std_group_mean|reward_std_batch|reward_max",),
    helps=("all_right_group_fraction", "all_wrong_group_fraction", "reward_mean", "reward_max"),
    shows=(
        "zero_variance_group_fraction",
        "reward_std_group_mean",
        "reward_std_batch",
        "all_right_group_fraction",
        "all_wrong_group_fraction",
        "reward_mean",
        "grad_norm",
    ),
    minimum_rows=LEAST,
    thresholds=(
        Threshold(
            "silent",
            0.75,
            "fraction of groups without reward spread",
            "three of four groups are wasted; healthy public runs reach 0.6 before mastery",
        ),
        Threshold(
            "all",
            0.97,
            "fraction of groups without reward spread",
            "the reward gives no gradient at all, and a KL term alone moves the policy",
        ),
        Threshold(
            "majority",
            0.5,
            "fraction of groups",
            "above it the silent groups are told as all right or all wrong",
        ),
    ),
    title="Most groups have no reward spread",
    explanation="In {silent} % of the groups every completion gets the same reward. These completions are paid for and "
    "give no gradient; what still moves the policy is the KL term.",
    record="Log the fraction of groups whose rewards are all equal as zero_variance_group_fraction.",
    remedies=(
        Advice(text="Drop prompts that are always or never solved, or sample until groups differ (dynamic sampling)."),
        Advice(text="Sample larger groups.", setting="group_size", scale=2.0),
        Advice(
            text="Choose prompts that the policy solves in 20 to 80 % of its samples: easier ones when all are wrong, harder ones when all are right."
        ),
        Advice(text="Sample at a higher temperature.", setting="temperature", suggested="1.0", only_below=1.0),
    ),
)


def judge(rows: Rows) -> tuple[Judgement, ...]:
    """Fires when most groups have been silent for a window of rows; told as info when mastery explains it."""
    silent = silent_groups(rows)
    share = rows.recent("share", silent.values, silent.fresh, width=WINDOW)
    enough = rows.count("rows", silent.fresh) >= LEAST
    # Noise that repeats itself lifts a whole window; its size is known from the rows before, where no change hides it.
    straying = rows.straying("straying", silent.values, silent.fresh, width=WINDOW)
    before = np.nan_to_num(rows.earlier("before", straying, silent.fresh, lag=WINDOW))
    many = share - before >= rows.limit("silent")
    evidence = rows.level("wasted", many, silent.fresh & enough)
    right = rows.mean("all_right_group_fraction", WINDOW) >= rows.limit("majority")
    wrong = rows.mean("all_wrong_group_fraction", WINDOW) >= rows.limit("majority")
    begun = rows.recent("begun", silent.values, silent.fresh, width=10) >= rows.limit("silent")
    since = rows.streak("since", begun, silent.fresh, gap=10)
    known = right | (mastered(rows) & ~wrong)
    return tuple(
        Judgement(
            fires=kind & enough & many,
            holds=kind & (share >= rows.limit("silent") - SLACK),
            log_evidence=evidence,
            since=since,
            critical=kind & many & ~known & (share >= rows.limit("all")),
            explained=known,
            subject=subject,
            facts={"silent": 100 * share},
        )
        for subject, kind in (("all right", right), ("all wrong", wrong), (None, ~right & ~wrong))
    )
