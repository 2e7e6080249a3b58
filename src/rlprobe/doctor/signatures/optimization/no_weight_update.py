"""Weights do not move although there is a gradient, or the trainer throws its updates away."""

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

SIGNATURE = Signature(
    id="NO_WEIGHT_UPDATE",
    stage="optimization",
    severity="critical",
    arm="exact",
    requires=("weight_update_ratio|weight_changed_fraction|skipped_update_fraction",),
    helps=("grad_norm", "learning_rate"),
    shows=("weight_update_ratio", "weight_changed_fraction", "skipped_update_fraction", "grad_norm", "reward_mean"),
    minimum_rows=5,
    thresholds=(
        Threshold("rows", 5.0, "rows in a row", "a warm-up that begins at zero lasts one or two"),
        Threshold(
            "changed", 0.01, "fraction of weights", "fewer than this changed: rounding swallows the step", high=1.0
        ),
        Threshold(
            "skipped", 0.9, "fraction of the last 20 rows", "skipped this often, training stands still", high=1.0
        ),
    ),
    aliases=("NO_OPTIMIZER_EFFECT",),
    title="The weights do not move",
    explanation="Updates have had no effect on the weights since step {onset} although gradients arrive: they are "
    "rounded away, skipped, or given to parameters that are not in use.",
    record="Log weight_update_ratio: the norm of an update's weight change over the norm of the weights.",
    remedies=(
        Advice(text="Keep 32-bit master weights: steps this small are rounded away in bfloat16.", setting="dtype"),
        Advice(text="Check that the optimizer holds the parameters that are trained, after wrapping and adapters."),
        Advice(
            text="Find out why the trainer skips updates: a ratio bound, a gradient that is not finite, a loss scale."
        ),
        Advice(text="Raise the learning rate.", setting="learning_rate", scale=10.0, only_below=1e-7),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when several rows in a row changed no weight although there was a gradient, or skipped the update."""
    ratio, changed = rows.series("weight_update_ratio"), rows.series("weight_changed_fraction")
    skipped = rows.series("skipped_update_fraction")
    pushed = ~(rows.series("grad_norm").values == 0)
    frozen = (ratio.fresh & (ratio.values == 0)) | (changed.fresh & (changed.values < rows.limit("changed")))
    since = rows.streak("frozen", frozen & pushed, ratio.fresh | changed.fresh, gap=0)
    length = (rows.index - since + 1) * (since >= 0)
    share = rows.recent("skipped", skipped.values, skipped.fresh, width=20)
    thrown = (share >= rows.limit("skipped")) & (rows.observations("skipped_update_fraction") >= 20)
    lost = rows.streak("thrown", skipped.values > 0.5, skipped.fresh, gap=5)
    fires = (length >= rows.limit("rows")) | thrown
    return Judgement(
        fires=fires,
        holds=(since >= 0) | thrown,
        log_evidence=rows.exact(fires),
        since=since.clip(min=lost * thrown),
    )
