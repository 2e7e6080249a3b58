"""Completions never end by themselves: the stop token is missing, not recognised, or no longer produced."""

import numpy as np

from rlprobe.doctor.derived import PINNED, Truncation, at_the_cap, truncation
from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.recording.run import BoolArray

WINDOW = 15  # rows in which not one completion ends

SIGNATURE = Signature(
    id="NO_EOS",
    stage="generation",
    severity="warning",
    arm="level",
    requires=("truncated_fraction|completion_tokens_mean",),
    helps=("completion_tokens_mean", "completion_tokens_max", "terminated_tokens_mean", "reward_mean"),
    shows=("truncated_fraction", "completion_tokens_mean", "terminated_tokens_mean"),
    minimum_rows=WINDOW,
    thresholds=(
        Threshold(
            "endless", 0.95, "fraction of completions",
            "cut over 15 rows; real runs without an end held 0.96 to 1.0, starved ones with some ends 0.45 to 0.94", 0, 1,
        ),
        Threshold(
            "squeezed", 0.7, "fraction of the cap",
            "completions that do end and are longer than this know how to end: the cap is too short for the rest", 0, 1,
        ),
        Threshold("gain", 3.0, "standard errors", "reward above its start by more than this keeps a warning from being critical"),
    ),
    title="Completions never end by themselves",
    explanation="For {rows} rows {cut} % of the completions have run into the length cap instead of ending.",
    record="Log the fraction of completions cut at the length cap as truncated_fraction.",
    remedies=(
        Advice(text="Print the last token ids of some completions and compare them with the stop tokens of tokenizer and sampler."),
        Advice(text="Apply the chat template with which the model was tuned; a base model without one has no reason to stop."),
        Advice(text="If they ended earlier in this run, roll back to before the onset and stop punishing finished wrong answers more than unfinished ones."),
        Advice(text="Raise the length cap once the stop token works.", setting="max_completion_tokens", scale=2.0),
    ),
    aliases=("EOS_PAD_BUG",),
)  # fmt: skip


def judge(rows: Rows) -> Judgement:
    """Fires when practically every completion of the last rows was cut; critical when it was so from the start."""
    cut = truncation(rows)
    full = cut.logged | (rows.series("completion_tokens_mean").values >= 0.99 * cut.cap)
    endless = (cut.values >= rows.limit("endless")) & full
    evidence = rows.level("endless", endless, cut.fresh)
    share = rows.recent("share", np.where(full, cut.values, 0.0), cut.fresh, width=WINDOW)
    now = rows.recent("now", endless.astype(np.float64), cut.fresh, width=5)
    began = rows.streak("streak", endless, cut.fresh, gap=1)
    real = at_the_cap(rows, share, WINDOW) & ~_squeezed(rows, cut)
    learning = rows.change("reward_mean").z > rows.limit("gain")
    from_start = (began >= 0) & (began <= PINNED)  # a cap that has to be inferred is known only after some rows
    lasted = np.where(began >= 0, rows.index - began + 1, 0)
    return Judgement(
        fires=(evidence >= rows.alarm) & (share >= rows.limit("endless")) & (lasted >= WINDOW) & real,
        holds=real & (now > 0.5),
        log_evidence=evidence,
        critical=from_start & (lasted >= 2 * WINDOW) & ~learning,
        since=np.where(from_start, 0, began),
        facts={"cut": 100 * share, "rows": lasted.astype(np.float64)},
    )


def _squeezed(rows: Rows, cut: Truncation) -> BoolArray:
    """(n,) whether some completions do end, and only just before the cap: then the cap is the fault."""
    ends = rows.series("terminated_tokens_mean")
    ended = ends.fresh & (ends.values > 0) & (cut.values < 1)
    reach = rows.recent_median("reach", ends.values / cut.cap, ended, width=9)
    squeezed: BoolArray = (rows.count("ended", ended) >= 3) & (reach >= rows.limit("squeezed"))
    return squeezed
