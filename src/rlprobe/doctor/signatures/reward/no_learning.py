"""The reward has not moved beyond its noise, although it had time to or something makes sure that it cannot."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.doctor.silence import full, silent_groups
from rlprobe.recording.run import BoolArray, FloatArray

UNBORNE = 4.0  # standard errors of a rise of the reward that noise gives in one run of twenty, looked at often
FORGOTTEN = 6.0  # standard errors by which right answers have become fewer beyond doubt
MEDIAN = 15  # rows that a robust level is the median of
WILD = 5.0  # of the starting spread; noise beyond it comes from single wild rows
TIED = (
    0.5  # autocorrelation of the reward's noise up to which rows_alone suffices; public flat runs have less than 0.25
)
MEDIAN_ERROR = 1.25  # standard error of a median over that of a mean, Gaussian noise

SIGNATURE = Signature(
    id="NO_LEARNING",
    stage="reward",
    severity="warning",
    arm="trend",
    requires=("reward_mean",),
    helps=("truncated_fraction", "zero_variance_group_fraction", "reward_std_group_mean", "grad_norm", "kl_mean"),
    shows=("reward_mean", "truncated_fraction", "zero_variance_group_fraction", "kl_mean", "grad_norm"),
    minimum_rows=40,
    thresholds=(
        Threshold(
            "gain",
            2.0,
            "standard errors",
            "late reward above early reward by less than this has not moved; 14 of 16 failing public runs and 1 of 28 "
            "healthy ones end below",
        ),
        Threshold(
            "rows_alone",
            300,
            "rows",
            "without another witness a flat run is told after these; the public runs that learned at last rose by row 272",
        ),
        Threshold("rows", 40, "rows", "with a witness; the shortest flat start that a witness made certain"),
        Threshold("still_rows", 60, "rows", "before the distance from the reference says that the policy stands still"),
        Threshold(
            "still",
            5e-4,
            "nats/token from the reference",
            "below it the policy stands where it began; the slowest healthy public run is at 0.0023 by row 60",
        ),
        Threshold(
            "truncated",
            0.45,
            "fraction of completions",
            "cut answers cannot score; no healthy public run is above it by row 40 without falling",
        ),
        Threshold(
            "falling", 0.8, "late over early truncation", "below it truncation heals and learning is still to come"
        ),
        Threshold(
            "silent",
            0.75,
            "fraction of groups without reward spread",
            "most updates have nothing to learn from; flat starts of healthy public runs stay at 0.55",
        ),
    ),
    aliases=("NO_LEARNING_SIGNAL",),
    title="The reward has not moved beyond its noise",
    explanation="After {rows} rows the reward lies {gain} standard errors from its start: this run has not learned.",
    record="Log the mean reward of every step as reward_mean.",
    remedies=(
        Advice(
            text="Raise the length cap, or ask for shorter answers: what is cut cannot score.",
            setting="max_completion_tokens",
            scale=2.0,
        ),
        Advice(text="Train on prompts that the policy solves in 20 to 80 % of its samples."),
        Advice(
            text="Sample more completions of a prompt, so that groups hold right and wrong answers.",
            setting="group_size",
            scale=2.0,
        ),
        Advice(
            text="Raise the learning rate while the policy stays near its reference.",
            setting="learning_rate",
            scale=3.0,
        ),
        Advice(text="Lower the KL coefficient.", setting="kl_coefficient", scale=0.1, only_above=0.02),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when reward is flat within its noise and the run is long, or a witness says that it cannot rise."""
    reward = rows.series("reward_mean")
    change = rows.change("reward_mean")
    flat = (np.abs(change.z) < rows.limit("gain")) & ~_lifted(rows)  # a reward that falls has another name
    right = rows.change("accuracy_fraction").z
    flat |= (np.abs(change.z) < UNBORNE) & (right <= -FORGOTTEN)  # a rise within the noise that answers contradict
    flat &= ~(right >= rows.limit("gain"))  # learned, under a reward that hides it
    alone = change.count * _independent(rows) >= rows.limit("rows_alone") * (1 - TIED) / (1 + TIED)
    alone &= change.count >= rows.limit("rows_alone")
    witness = (change.count >= rows.limit("rows")) & (_cut(rows) | _silent(rows) | _powerless(rows))
    witness |= (change.count >= rows.limit("still_rows")) & _still(rows)
    solved = (rows.mean("all_right_group_fraction", 20) >= 0.5) | full(rows)
    fires = flat & (alone | witness) & ~solved
    evidence = rows.level("flat", flat, reward.fresh & (change.count >= rows.limit("rows") / 2))
    return Judgement(
        fires=fires & (evidence >= rows.alarm),
        holds=change.z < rows.limit("gain") + 1.0,
        log_evidence=evidence,
        since=np.where(fires, 0, -1),
        facts={"rows": change.count, "gain": change.z},
    )


def _independent(rows: Rows) -> FloatArray:
    """(n,) fraction of the rows that are worth an independent one: noise that repeats itself can hide what was learned."""
    phi = np.nan_to_num(rows.persistence("reward_mean"))
    return (1 - phi) / (1 + phi)


def _lifted(rows: Rows) -> BoolArray:
    """(n,) whether the median has risen although a wild reward, by swelling the noise, hides it from the means."""
    start, rise = rows.baseline("reward_mean", MEDIAN), rows.smooth("reward_mean", MEDIAN)
    error = start.spread * np.sqrt(2.0 / MEDIAN) * MEDIAN_ERROR
    swollen = rows.change("reward_mean").noise > WILD * start.spread
    calm = start.spread > 0.01 * np.abs(start.level)
    lifted: BoolArray = swollen & calm & (rise - start.level > 2 * rows.limit("gain") * error)
    return lifted


def _cut(rows: Rows) -> BoolArray:
    """Completions are cut at the cap as often as at the start."""
    cut = rows.change("truncated_fraction")
    high = (cut.early >= rows.limit("truncated")) & (cut.late >= rows.limit("truncated"))
    return high & (cut.late >= rows.limit("falling") * cut.early)


def _silent(rows: Rows) -> BoolArray:
    """Most groups have had no reward spread, from the start until now."""
    silent = silent_groups(rows)
    total = rows.recent("silent", silent.values, silent.fresh, width=30)
    return (total >= rows.limit("silent")) & (rows.count("groups", silent.fresh) >= 30)


def _powerless(rows: Rows) -> BoolArray:
    """No gradient or no advantage has ever been anything but zero."""
    none = np.zeros(len(rows), dtype=bool)
    for name in ("grad_norm", "advantage_abs_mean", "advantage_std", "advantage_max"):
        none |= (rows.observations(name) >= rows.limit("rows")) & ~rows.measured(name)
    return none


def _still(rows: Rows) -> BoolArray:
    """The policy is where it began, as its distance from the reference shows."""
    kl = rows.series("kl_mean")
    straying = np.nan_to_num(rows.straying("kl", kl.values, kl.fresh, width=15))
    return rows.measured("kl_mean") & (np.abs(rows.smooth("kl_mean", 15)) + straying < rows.limit("still"))
