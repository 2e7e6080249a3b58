"""The log cannot be trusted: metrics stop, freeze, contradict each other, or the reward is not there at all."""

from itertools import product

import numpy as np

from rlprobe.doctor.derived import at_the_cap
from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import ABOUT, Advice, Judgement, Signature, Threshold
from rlprobe.recording.metrics import find
from rlprobe.recording.run import BoolArray, FloatArray, IntArray

CONTINUOUS = ("entropy_mean", "kl_mean", "grad_norm", "loss", "policy_loss", "value_loss")
REGULAR = (*CONTINUOUS, "reward_mean", "completion_tokens_mean")
REWARDS = ("reward_mean", "reward_with_kl_mean", "true_reward_mean", "accuracy_fraction", "chosen_reward_mean")
BOUNDED = ("truncated_fraction", "clip_fraction", "zero_variance_group_fraction")
ORDERED = (
    ("reward_min", "reward_mean"), ("reward_mean", "reward_max"),
    ("completion_tokens_min", "completion_tokens_mean"), ("completion_tokens_mean", "completion_tokens_max"),
    ("advantage_min", "advantage_mean"), ("advantage_mean", "advantage_max"),
)  # fmt: skip
PREFERENCE = ("dpo", "orpo", "kto", "simpo", "sft", "reward")
TOLERANCE = 1e-4  # relative; logs round

SIGNATURE = Signature(
    id="METRIC_GAP",
    stage="infrastructure",
    severity="warning",
    arm="exact",
    requires=(),
    helps=(*REGULAR, "truncated_fraction"),
    shows=("grad_norm", "loss", "entropy_mean", "kl_mean", "reward_mean"),
    minimum_rows=20,
    thresholds=(
        Threshold("silent", 20.0, "rows", "without a metric that was logged before, and three times its longest gap so far", 5),
        Threshold("frozen", 20.0, "rows", "of one and the same value with more than three digits, after it varied", 5),
        Threshold("wrong", 3.0, "rows in a row", "in which metrics contradict each other or their own range", 1),
        Threshold("rewardless", 40.0, "rows", "of reinforcement learning without any reward", 5),
        Threshold("cut", 0.9, "fraction of completions", "counted as cut although lengths lie far below the cap", 0, 1),
    ),
    title="Metrics stop, freeze or contradict each other",
    explanation="Metrics are {subject}, from step {onset} on: what they say is not what happens.",
    record="Log every metric in every row, from the step that it belongs to.",
    remedies=(
        Advice(text="Look for an exception in the process or callback that logs these metrics."),
        Advice(text="Check that the logger's buffer is cleared after every step, and that a metric is averaged over its own step."),
        Advice(text="Recompute the contradictory numbers from samples: the stop tokens that the trainer knows decide what counts as cut."),
        Advice(text="Judge this run by the metrics that remain, and log the others again."),
    ),
    aliases=("LOGGER_DEAD", "METRIC_ARTIFACT"),
)  # fmt: skip


def judge(rows: Rows) -> tuple[Judgement, ...]:
    """Fires per kind of gap when at least one metric shows it."""
    missing = [((name,), _stopped(rows, name)) for name in REGULAR]
    return (
        _told(rows, "missing", [*missing, (("reward_mean",), _rewardless(rows))]),
        _told(rows, "frozen", [((name,), _frozen(rows, name)) for name in CONTINUOUS]),
        _told(rows, "contradictory", _contradictions(rows)),
    )


def _told(rows: Rows, subject: str, begins: list[tuple[tuple[str, ...], IntArray]]) -> Judgement:
    """One judgement of metrics given their names and the rows at which each went wrong, -1 where it is well."""
    began = np.array([rows_of for _, rows_of in begins])
    wrong = began >= 0
    fires: BoolArray = np.asarray(wrong.any(axis=0))
    return Judgement(
        subject=subject,
        fires=fires,
        log_evidence=rows.exact(fires),
        since=np.where(fires, np.where(wrong, began, 2**62).min(axis=0), -1),
        facts=_pointed(begins),
    )


def _pointed(begins: list[tuple[tuple[str, ...], IntArray]]) -> dict[str, FloatArray]:
    """Facts that point out each metric where something is wrong with it."""
    pointed: dict[str, FloatArray] = {}
    for names, began in begins:
        for name in names:
            before = pointed.get(ABOUT + name, np.zeros(len(began)))
            pointed[ABOUT + name] = np.maximum(before, (began >= 0).astype(np.float64))
    return pointed


def _stopped(rows: Rows, name: str) -> IntArray:
    """(n,) row after the last value of a metric that has been silent for too long, else -1."""
    fresh = rows.series(name).fresh | (rows.nonfinite(name) > 0)  # NaN is bad news, and it is news
    index = rows.index.astype(np.float64)
    last = rows.carried_max(f"last {name}", np.where(fresh, index, np.nan))
    previous = rows.earlier(f"previous {name}", index, fresh, lag=1)
    longest = rows.carried_max(f"gap {name}", np.where(fresh, index - previous, np.nan))
    silent = (index - last >= rows.limit("silent")) & (index - last >= 3 * longest)
    silent &= rows.observations(name) >= rows.limit("silent")
    return np.where(silent, last + 1, -1).astype(np.int64)


def _rewardless(rows: Rows) -> IntArray:
    """(n,) 0 where a run that optimises a policy has logged no reward of any kind for too long, else -1."""
    known = np.zeros(len(rows), dtype=bool)
    for name in REWARDS:
        known |= rows.observations(name) > 0
    trains = (rows.observations("entropy_mean") > 0) | (rows.observations("kl_mean") > 0)
    algorithm = rows.manifest.algorithm.lower()
    silent = (rows.index + 1 >= rows.limit("rewardless")) & trains & ~known
    return np.where(silent & (algorithm not in ("", *PREFERENCE)), 0, -1)


def _frozen(rows: Rows, name: str) -> IntArray:
    """(n,) row since which a metric that used to vary has held one value, while rewards or lengths still change."""
    series = rows.series(name)
    before = rows.earlier(f"before {name}", series.values, series.fresh, lag=1)
    same = series.fresh & (series.values == before) & _precise(series.values)
    varied = rows.count(f"varied {name}", series.fresh & (series.values != before) & ~np.isnan(before)) >= 10
    began = rows.streak(f"same {name}", same, series.fresh, gap=0)
    long = (began >= 0) & (rows.index - began + 1 >= rows.limit("frozen"))
    return np.where(long & varied & _moving(rows, name), began, -1)


def _moving(rows: Rows, key: str) -> BoolArray:
    """(n,) whether reward or length changed in most of the last rows: a policy that stands still has constant metrics."""
    moving = np.zeros(len(rows), dtype=bool)
    for name in ("reward_mean", "completion_tokens_mean"):
        series = rows.series(name)
        before = rows.earlier(f"{key} moving {name}", series.values, series.fresh, lag=1)
        changed = rows.recent(f"{key} changed {name}", series.values != before, series.fresh, width=20)
        moving |= changed > 0.5
    return moving


def _precise(x: FloatArray) -> BoolArray:
    """(n,) whether a value has more than three significant digits: rounded logs repeat themselves by chance."""
    size = 10.0 ** (2 - np.floor(np.log10(np.where(x == 0, 1.0, np.abs(x)))))
    return np.asarray((x != 0) & (np.abs(x * size - np.round(x * size)) > 1e-6), dtype=bool)


def _contradictions(rows: Rows) -> list[tuple[tuple[str, ...], IntArray]]:
    """For each law that metrics must obey, its metrics and the (n,) row since which it has been broken, else -1."""
    broken: list[tuple[tuple[str, ...], str, BoolArray, BoolArray]] = []
    for low, high in ORDERED:
        a, b = rows.series(low), rows.series(high)
        slack = TOLERANCE * np.maximum(np.abs(a.values), np.abs(b.values)) + 1e-6
        broken.append(((low, high), f"{low} {high}", a.values > b.values + slack, a.fresh & b.fresh))
    for name, side in product(BOUNDED, ("low", "high")):
        metric, series = find(name), rows.series(name)
        bound = None if metric is None else getattr(metric, side)
        if bound is not None:
            beyond = series.values < bound - TOLERANCE if side == "low" else series.values > bound + TOLERANCE
            broken.append(((name,), f"{name} {side}", beyond, series.fresh))
    cut = rows.series("truncated_fraction")
    short = ~at_the_cap(rows, rows.mean("truncated_fraction", 20), 20) & (rows.observations("truncated_fraction") >= 20)
    lengths = ("truncated_fraction", "completion_tokens_mean")
    broken.append((lengths, "cut", short & (rows.mean("truncated_fraction", 20) >= rows.limit("cut")), cut.fresh))
    return [(names, _lasting(rows, key, wrong, fresh)) for names, key, wrong, fresh in broken]


def _lasting(rows: Rows, key: str, broken: BoolArray, fresh: BoolArray) -> IntArray:
    began = rows.streak(key, broken, fresh, gap=0)
    return np.where((began >= 0) & (rows.index - began + 1 >= rows.limit("wrong")), began, -1)
