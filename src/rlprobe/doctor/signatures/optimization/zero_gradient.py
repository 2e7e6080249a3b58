"""The gradient is zero: nothing is learned, whatever the other curves show."""

from numpy import where

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.doctor.silence import silent_groups
from rlprobe.recording.run import BoolArray

TRACES = ("reward_mean", "entropy_mean", "completion_tokens_mean", "kl_mean")  # move only with the policy

SIGNATURE = Signature(
    id="ZERO_GRADIENT",
    stage="optimization",
    severity="warning",
    arm="exact",
    requires=("grad_norm|value_loss",),
    helps=("learning_rate", "zero_variance_group_fraction", "policy_loss"),
    shows=("grad_norm", "policy_loss", "value_loss", "zero_variance_group_fraction", "reward_mean"),
    minimum_rows=15,
    thresholds=(
        Threshold(
            "rows", 15.0, "rows in a row", "two to four samples a group give 5 rows without spread in healthy runs"
        ),
        Threshold(
            "moved",
            5.0,
            "standard errors",
            "a change of reward, entropy, length or KL: the policy moves, and a norm that has always been zero is a "
            "column that nobody filled",
        ),
        Threshold("zero", 1e-10, "gradient norm", "below it a norm is zero but for rounding"),
        Threshold(
            "solved",
            0.95,
            "fraction of the reward range seen so far",
            "a reward this close to its best leaves nothing to push for, and a gradient of zero is the consequence",
        ),
    ),
    aliases=("ZERO_GRAD",),
    title="The gradient is zero",
    explanation="No gradient has reached the optimizer since step {onset}, for {rows} rows in a row. A loss near zero "
    "would be normal; a gradient of zero is not.",
    record="Log the gradient norm before clipping as grad_norm.",
    remedies=(
        Advice(
            text="Look at the rewards within a group: where all are equal, every advantage and the gradient are zero."
        ),
        Advice(text="Check that the loss mask is not empty and that trainable parameters require gradients."),
        Advice(text="Check that gradient checkpointing and adapters are combined with inputs that require gradients."),
        Advice(text="Sample more completions a prompt.", setting="group_size", suggested="8", only_below=8),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when the norm, or both losses of an actor-critic run, have been exactly zero for many rows in a row."""
    norm, policy, value = rows.series("grad_norm"), rows.series("policy_loss"), rows.series("value_loss")
    still = norm.fresh & (norm.values <= rows.limit("zero"))
    # A critic's loss of exactly zero together with the policy's is no rounding: neither sees an error.
    dead = value.fresh & policy.fresh & (value.values == 0) & (policy.values == 0)
    idle = rows.series("learning_rate").values == 0
    # A norm that a foreign log has only ever shown as zero stands twice as long, unless silent groups bear it out.
    untold, groups = ~rows.measured("grad_norm") & ~dead, silent_groups(rows)
    unfilled = untold & _moved(rows)
    measured = ~untold | (rows.manifest.format == "recording")
    borne_out = measured | (rows.recent("silent", groups.values, groups.fresh, width=10) >= 1)
    needed = where(borne_out, 1, 2) * rows.limit("rows")
    since = rows.streak("zero", (still | dead) & ~idle, norm.fresh | (value.fresh & policy.fresh), gap=0)
    length = (rows.index - since + 1) * (since >= 0)
    lowest, highest = rows.lowest("reward_mean"), rows.highest("reward_mean")
    solved = (rows.smooth("reward_mean") - lowest >= rows.limit("solved") * (highest - lowest)) & (highest > lowest)
    fires = (length >= needed) & ~solved & ~unfilled
    return Judgement(
        fires=fires,
        holds=(since >= 0) & ~unfilled,
        log_evidence=rows.exact(fires),
        critical=length >= 2 * rows.limit("rows"),
        since=since,
        facts={"rows": length.astype(float)},
    )


def _moved(rows: Rows) -> BoolArray:
    """(n,) whether anything that only the policy moves has changed since the start by more than its noise."""
    out = ~rows.every
    for name in TRACES:
        out = out | (abs(rows.change(name).z) >= rows.limit("moved"))
    return out
