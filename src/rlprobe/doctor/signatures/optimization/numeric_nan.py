"""A number of the update is NaN or infinite: which one turned first, and when."""

from functools import reduce
from operator import or_

from numpy import where

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.recording.run import BoolArray, IntArray

# In the order in which one poisons the next, so that of several that turn in one row the first is named.
METRICS = (
    "reward_with_kl_mean",
    "logprob_mean",
    "sampler_ratio_mean",
    "sampler_kl_mean",
    "ratio_mean",
    "ratio_max",
    "kl_mean",
    "kl_max",
    "kl_old_mean",
    "entropy_mean",
    "advantage_mean",
    "advantage_std",
    "value_mean",
    "value_loss",
    "kl_loss",
    "policy_loss",
    "loss",
    "value_grad_norm",
    "grad_norm",
)
COUNTS = ("logprob_nonfinite_count", "grad_nonfinite_count")
# Never undefined: a NaN in them is a failure even where there was no number before.
ALWAYS_DEFINED = frozenset({"policy_loss", "loss", "grad_norm"})

SIGNATURE = Signature(
    id="NUMERIC_NAN",
    stage="optimization",
    severity="warning",
    arm="exact",
    requires=("|".join((*COUNTS, *METRICS)),),
    shows=("{subject}", "grad_norm", "loss", "reward_mean"),
    minimum_rows=1,
    thresholds=(
        Threshold("undefined", 3.0, "rows", "NaN this often from the start is no longer a warm-up of the logger"),
        Threshold("repeats", 2.0, "rows", "this many rows make it critical: one alone may be a skipped update"),
        Threshold("nearby", 0.2, "fraction of the last 10 rows", "rows that far apart are separate accidents"),
        Threshold("memory", 50.0, "rows", "a second broken row this soon is the same failure", low=1.0),
    ),
    aliases=("NONFINITE",),
    title="NaN or infinite numbers in the update",
    explanation="{subject} is the first number that was NaN or infinite; it is so at step {onset}.",
    record="Log loss and grad_norm every step and turn off any filter that replaces NaN losses.",
    remedies=(
        Advice(text="Restart from the last checkpoint before this step: NaN in the weights does not heal."),
        Advice(text="Train in bfloat16 or keep log-probs and the loss in 32-bit.", setting="dtype", suggested="bf16"),
        Advice(text="Clamp log-ratios to plus or minus 20 before they are exponentiated."),
        Advice(text="Skip updates whose gradient norm is not finite, and count them."),
        Advice(text="Lower the learning rate.", setting="learning_rate", scale=0.3),
    ),
)


def judge(rows: Rows) -> tuple[Judgement, ...]:
    """Fires under the name of the metric that turned first, in every row in which a number of the update is broken."""
    broken = {name: _broken(rows, name) for name in METRICS}
    broken |= {name: rows.series(name).fresh & (rows.series(name).values > 0) for name in COUNTS}
    anywhere = reduce(or_, broken.values())
    count = rows.count("broken", anywhere)
    nearby = rows.recent("nearby", anywhere, rows.every, width=10) >= rows.limit("nearby")
    repeated = count >= rows.limit("repeats")
    holds = anywhere | (repeated & rows.latch("lately", anywhere, width=int(rows.limit("memory"))))
    critical = anywhere & nearby & repeated
    unclaimed = anywhere & (count == 1)  # of the very first broken row, the first metric in order takes the name
    judgements = []
    for name, mask in broken.items():
        first = unclaimed & mask
        unclaimed = unclaimed & ~mask
        fires = anywhere & rows.ever(f"named {name}", first)
        judgements.append(
            Judgement(
                fires=fires,
                holds=fires | (holds & rows.ever(f"still {name}", fires)),
                log_evidence=rows.exact(fires),
                critical=critical,
                since=_since(rows, name, mask),
                subject=name,
            )
        )
    return tuple(judgements)


def _since(rows: Rows, name: str, broken: BoolArray) -> IntArray:
    """(n,) row at which the numbers broke: where none was ever finite, that is known only some rows later."""
    began = rows.streak(f"began {name}", (rows.nonfinite(name) > 0) | broken, rows.every, gap=0)
    since: IntArray = where(began >= 0, began, rows.index)
    return since


def _broken(rows: Rows, name: str) -> BoolArray:
    """Rows in which the metric is not finite although it has been, or must be, a number."""
    bad = rows.nonfinite(name) > 0
    known = rows.observations(name) >= 1
    if name in ALWAYS_DEFINED:
        known = known | (rows.count(f"never {name}", bad) >= rows.limit("undefined"))
    return bad & known
