"""Memory grows step by step and longer completions do not explain it: something is never freed."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.recording.run import BoolArray, FloatArray

START = 10  # rows that make the start level; allocators and caches fill in the first ones
STEADY = 20  # rows over which growth must go on as it did on average

SIGNATURE = Signature(
    id="MEMORY_CREEP",
    stage="infrastructure",
    severity="warning",
    arm="level",
    requires=("memory_bytes|host_memory_bytes",),
    helps=("completion_tokens_mean", "completion_tokens_max"),
    shows=("memory_bytes", "host_memory_bytes", "completion_tokens_mean"),
    minimum_rows=40,
    thresholds=(
        Threshold(
            "growth", 0.25, "fraction of the start level",
            "beyond what the growth of completions explains; device memory of healthy real runs grows by less than 0.05", 0,
        ),
        Threshold(
            "pace", 0.5, "fraction of the mean growth a row so far",
            "slower lately means that caches are full: host memory of healthy real runs grows early by 0.4 and stays", 0, 1,
        ),
    ),
    title="Memory grows without longer completions",
    explanation="Memory has grown by {grown} % since the start and grows on, while the longest completions grew by {longer} %.",
    record="Log peak accelerator memory as memory_bytes and host memory as host_memory_bytes.",
    remedies=(
        Advice(text="Look for tensors kept across steps: metrics appended without detach, samples in a list, a graph held by a logged loss."),
        Advice(text="Compare a memory snapshot of two steps far apart and see which allocation is there twice."),
        Advice(text="Restart from a checkpoint before memory runs out."),
    ),
    aliases=("MEMORY_GROWTH",),
)  # fmt: skip


def judge(rows: Rows) -> Judgement:
    """Fires when device or host memory has grown steadily beyond what length explains."""
    longer = _longer(rows)
    device, device_evidence, device_growth = _creeps(rows, "memory_bytes", longer)
    host, host_evidence, host_growth = _creeps(rows, "host_memory_bytes", longer)
    fires = (device & (device_evidence >= rows.alarm)) | (host & (host_evidence >= rows.alarm))
    return Judgement(
        fires=fires,
        holds=device | host,
        log_evidence=np.fmax(device_evidence, host_evidence),
        facts={"grown": 100 * np.where(device | ~host, device_growth, host_growth), "longer": 100 * longer},
    )


def _creeps(rows: Rows, name: str, longer: FloatArray) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Whether a memory metric creeps, the log evidence, and its growth as a fraction of the start level."""
    memory, start = rows.series(name), rows.baseline(name, START).level
    growth = memory.values / start - 1.0
    age = rows.observations(name) - START / 2
    pace = (memory.values - rows.ago(name, STEADY)) / STEADY
    steady = (age > 2 * STEADY) & (pace > rows.limit("pace") * (memory.values - start) / np.maximum(age, 1.0))
    beyond = growth > rows.limit("growth") + longer
    evidence = rows.level(f"beyond {name}", beyond & steady, memory.fresh)
    return beyond & steady, evidence, growth


def _longer(rows: Rows) -> FloatArray:
    """(n,) growth of the longest completions so far over the start, as a fraction; 0 where lengths are unknown."""
    growths = [
        rows.highest(name) / rows.baseline(name, START).level - 1.0
        for name in ("completion_tokens_mean", "completion_tokens_max")
    ]
    return np.asarray(np.maximum(0.0, np.nan_to_num(np.fmax(*growths), nan=0.0)), dtype=np.float64)
