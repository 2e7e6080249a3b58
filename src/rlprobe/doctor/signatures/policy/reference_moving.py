"""KL stays zero while the weights move: the reference follows the policy, and the penalty holds nothing."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

SIGNATURE = Signature(
    id="REFERENCE_MOVING",
    stage="policy",
    severity="warning",
    arm="exact",
    requires=("kl_mean|reference_drift",),
    helps=("weight_update_ratio", "kl_coefficient"),
    shows=("reference_drift", "kl_mean", "weight_update_ratio", "reward_mean"),
    minimum_rows=20,
    thresholds=(
        Threshold("drift", 1e-6, "relative change of the reference", "a frozen reference has exactly zero"),
        Threshold("zero", 1e-6, "nats/token", "a policy that was updated twenty times is further away, or on its way"),
        Threshold("rows", 20.0, "rows in a row", "a learning rate that warms up from zero keeps KL at zero for a few"),
        Threshold("growth", 4.0, "times the lowest KL of five rows", "a policy twice as far away has left on its own"),
        Threshold("rounding", 1e-8, "nats/token", "below it growth is noise of the log-probs"),
        Threshold("update", 1e-7, "relative weight change", "below it the policy itself stands still"),
    ),
    aliases=("REF_MOVING",),
    title="The reference follows the policy",
    explanation="KL to the reference is {kl} nats/token although the weights have moved since step {onset}: the "
    "reference moves along, and the KL penalty holds nothing.",
    record="Log kl_mean together with weight_update_ratio, or reference_drift: the reference's own weight change.",
    remedies=(
        Advice(text="Load the reference as a model of its own, or copy the weights instead of sharing them."),
        Advice(text="Do not synchronise the reference with the policy.", setting="sync_reference", suggested="false"),
        Advice(text="With adapters, compute the reference's log-probs with the adapter disabled."),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when the reference's weights change, or when KL stays zero for long beside updates that work."""
    drift, kl, update = rows.series("reference_drift"), rows.series("kl_mean"), rows.series("weight_update_ratio")
    meant = rows.setting("sync_reference") is True
    # A reference that was another model from the start differs by a constant: only growth is movement.
    drifts = drift.fresh & (drift.values > rows.lowest("reference_drift") + rows.limit("drift"))
    moves = rows.mean("weight_update_ratio", 5) > rows.limit("update")
    # A slow policy is as near for long, but leaves steadily; one whose reference follows stays where it is.
    distance = rows.mean("kl_mean", 5)
    leaves = distance > np.maximum(
        rows.limit("growth") * rows.carried_min("distance", distance), rows.limit("rounding")
    )
    flat = kl.fresh & (abs(kl.values) <= rows.limit("zero")) & ~leaves & update.fresh & moves
    since = rows.streak("flat", flat | drifts, kl.fresh | drift.fresh, gap=0)
    fires = (since >= 0) & (rows.index - since + 1 >= rows.limit("rows")) & (not meant)
    return Judgement(fires=fires, log_evidence=rows.exact(fires), since=since, facts={"kl": kl.values})
