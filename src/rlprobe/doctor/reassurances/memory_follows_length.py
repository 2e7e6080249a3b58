"""Memory climbs, but only when completions get longer: a leak does not wait for long ones."""

import numpy as np

from rlprobe.doctor.normal import Normal, Normality
from rlprobe.doctor.rows import Rows

GROWN = 1.05  # times the starting memory from which people worry
MOVED = 3.0  # standard errors
RECORD = 1.005  # times the old peak that makes a new one
RECORDS = 3  # peaks before anything is said
NEAR_LONGEST = 0.9  # of the longest completion so far: a row that explains a peak
EXPLAINED = 0.8  # fraction of the peaks that such rows must explain

NORMAL = Normal(
    id="MEMORY_FOLLOWS_LENGTH",
    title="Memory grows because completions do",
    worry="Accelerator memory climbs during the run like a leak.",
    asks="Memory sets its records in the rows that set or come close to the record of length, and length has grown at "
    "least as much.",
    explanation=(
        "Memory grew by {grown} % while completions grew by {longer} %, and {share} % of its peaks fall on rows with "
        "completions close to the longest so far. A leak grows at every step, whatever the length."
    ),
    requires=("memory_bytes", "completion_tokens_max|completion_tokens_mean"),
    shows=("memory_bytes", "completion_tokens_max", "completion_tokens_mean"),
    unless=(
        "MEMORY_CREEP",
        "LENGTH_EXPLOSION",
        "NO_EOS",
        "REPETITION_SPIRAL",
        "REWARD_HACK_LENGTH",
        "TRUNCATION_STARVE",
    ),
    weight=5,
)


def judge(rows: Rows) -> Normality:
    """Holds while memory has grown, length has grown at least as much, and peaks of both fall together."""
    longest, mean = rows.series("completion_tokens_max"), rows.series("completion_tokens_mean")
    length = np.where(np.isnan(longest.values), mean.values, longest.values)
    close = length >= NEAR_LONGEST * rows.carried_max("longest", length)
    memory = rows.series("memory_bytes")
    before = rows.earlier("peak", rows.highest("memory_bytes"), memory.fresh, lag=1)
    peak = memory.fresh & (memory.values > RECORD * before)
    peaks = rows.count("peaks", peak)
    share = rows.count("explained", peak & close) / np.maximum(peaks, 1.0)
    used, long, average = (
        rows.change(name) for name in ("memory_bytes", "completion_tokens_max", "completion_tokens_mean")
    )
    longer = np.where(np.isnan(long.z), average.late / average.early, long.late / long.early)
    moved = np.where(np.isnan(long.z), average.z, long.z)
    grown = used.late / used.early
    holds = (grown >= GROWN) & (used.z >= MOVED) & (moved >= MOVED) & (longer >= grown)
    return Normality(
        holds=holds & (peaks >= RECORDS) & (share >= EXPLAINED),
        facts={"grown": 100 * (grown - 1), "longer": 100 * (longer - 1), "share": 100 * share},
    )
