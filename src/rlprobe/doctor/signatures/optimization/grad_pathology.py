"""The gradient norm surges and stays up, or spikes again and again."""

import numpy as np

from rlprobe.doctor.rows import Rows, Series
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.doctor.silence import silent_groups
from rlprobe.recording.run import BoolArray, FloatArray

START = 8  # first observations that the norm is compared with: one that grows from the start must not hide itself
PATIENCE = 32  # updates in which START of them are waited for that had a reward to follow
WINDOW = 60  # observations in which spikes are counted
GROWN = 1.1  # times the first of several spikes row by row; what rises above it is no fading echo

SIGNATURE = Signature(
    id="GRAD_PATHOLOGY",
    stage="optimization",
    severity="warning",
    arm="level",
    requires=("grad_norm",),
    helps=("reward_mean", "learning_rate"),
    shows=("grad_norm", "loss", "reward_mean"),
    scale="log",
    thresholds=(
        Threshold(
            "surge",
            6.0,
            "times the starting norm",
            "a norm that settles above it has left its scale; the real surge is at 18, healthy runs stay "
            "below 3.9, or 5.1 with a rising reward",
        ),
        Threshold("spike", 10.0, "times the running median", "healthy runs have such rows in at most 0.8 % of all"),
        Threshold(
            "often",
            0.08,
            "fraction of the last 60 rows",
            "healthy runs have 0.008, and four in 60 in one of 600",
            high=1.0,
        ),
        Threshold("fewest", 4.0, "spikes", "fewer are told apart from bad luck by nothing"),
        Threshold("gain", 2.0, "standard errors", "reward above its start by more than this shows that the steps help"),
        Threshold("severe", 30.0, "times the starting norm", "settled above it the update is noise"),
    ),
    aliases=("GRAD_EXPLOSION", "GRAD_SPIKES"),
    title="The gradient norm explodes or spikes repeatedly",
    explanation="The gradient norm is {after} against {before} before step {onset}; {spikes} of the last rows "
    "are more than tenfold spikes.",
    record="Log the gradient norm before clipping as grad_norm.",
    remedies=(
        Advice(
            text="Look at the samples of the spiking steps: one sequence often holds tokens with ratios far from one."
        ),
        Advice(
            text="Compare the sampler's log-probs with the trainer's: a gap between them inflates importance weights."
        ),
        Advice(text="Clip the gradient norm.", setting="max_grad_norm", suggested="1.0", only_above=1.0),
        Advice(text="Lower the learning rate.", setting="learning_rate", scale=0.3),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when the norm has settled far above its start without gain, or when spikes are frequent."""
    norm = rows.series("grad_norm")
    start, working = _working(rows, norm)
    smooth = rows.smooth("grad_norm")
    surging = norm.values > rows.limit("surge") * start
    evidence = rows.level("surging", surging, norm.fresh)
    high = smooth > rows.limit("surge") * start
    unpaid = ~(rows.change("reward_mean").z > rows.limit("gain"))
    usual = np.fmax(rows.quantile("grad_norm", WINDOW, 0.5), working)
    # A norm that is zero between degenerate batches makes the ordinary look like a spike: it must beat the start, too.
    spike = (norm.values > rows.limit("spike") * usual) & (norm.values > rows.limit("surge") * start)
    share = rows.recent("spikes", spike & ~_echo(rows, norm, spike), norm.fresh, width=WINDOW)
    seen = rows.observations("grad_norm").clip(max=WINDOW)
    often = (share >= rows.limit("often")) & (share * seen >= rows.limit("fewest") - 0.5)
    surged = (evidence >= rows.alarm) & high & unpaid
    return Judgement(
        fires=surged | (often & spike),
        holds=high | (share > 0),  # what comes in spikes is not gone between two of them
        log_evidence=evidence.clip(min=rows.alarm),
        since=np.where(surged, -1, rows.streak("first spike", spike, norm.fresh, gap=WINDOW)),
        critical=(evidence >= rows.alarm) & unpaid & (smooth > rows.limit("severe") * start),
        facts={"spikes": share * seen},
    )


def _working(rows: Rows, norm: Series) -> tuple[FloatArray, FloatArray]:
    """(n,), (n,) the norm at the start and lately, of updates that had a reward to follow: others hold the KL term alone.

    The start is unknown until there were START of them, and that of all updates where they do not come in PATIENCE. A
    rollout that serves several updates tells its rewards beside the first of them only.
    """
    silent = silent_groups(rows)
    silenced = rows.recent("silenced", silent.values == 1, silent.fresh, width=1) == 1
    heard = norm.fresh & ~silenced
    start = rows.first("working start", norm.values, heard, count=START)
    late = rows.observations("grad_norm") >= PATIENCE
    start = np.where(np.isnan(start) & late, rows.baseline("grad_norm", START).level, start)
    return start, rows.recent_median("working", norm.values, heard, width=WINDOW)


def _echo(rows: Rows, norm: Series, spike: BoolArray) -> BoolArray:
    """(n,) spikes that follow another row by row without ever rising above the first: one shock that fades."""
    opens = spike & (rows.earlier("spike before", spike, norm.fresh, lag=1) != 1)
    index = rows.index.astype(np.float64)
    began = rows.recent("began", index, opens, width=1)
    rises = spike & (norm.values > GROWN * rows.recent("first", norm.values, opens, width=1))
    echo: BoolArray = spike & ~opens & ~(rows.recent("rose", index, rises, width=1) >= began)
    return echo
