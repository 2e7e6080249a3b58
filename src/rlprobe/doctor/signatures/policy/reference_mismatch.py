"""KL is not zero before the first update: the reference is not the policy that training starts from."""

from numpy import where

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

FIRST_STEP = 2  # a log that begins later averages over updates, and its first KL says nothing

SIGNATURE = Signature(
    id="REFERENCE_MISMATCH",
    stage="policy",
    severity="warning",
    arm="exact",
    requires=("kl_mean",),
    helps=("kl_coefficient",),
    shows=("kl_mean", "kl_max", "reward_mean"),
    minimum_rows=3,
    thresholds=(
        Threshold(
            "start",
            0.25,
            "nats/token",
            "the KL of the first rows of a policy that starts as its reference; healthy runs log at most 0.007 there, "
            "wrong references 0.15 to 0.7, of which the smaller ones have been trained with well",
        ),
        Threshold("rows", 3.0, "rows", "the first rows that all lie above it: one alone is a stray token", low=1.0),
    ),
    aliases=("WRONG_REFERENCE", "REF_MISSPEC"),
    title="The policy does not start at its reference",
    explanation="KL to the reference is {after} nats/token from the first step on, where equal models give zero: the "
    "penalty pulls towards a model that training did not start from.",
    record="Log the KL to the reference from the very first step as kl_mean.",
    remedies=(
        Advice(
            text="Use the weights that training starts from as the reference, adapters merged or loaded on both sides."
        ),
        Advice(text="Score policy and reference on the same token ids: same template, same special tokens, same mask."),
        Advice(text="Turn dropout off while log-probs are computed."),
        Advice(text="Divide the logits of both models by the same temperature.", setting="temperature"),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when each of the first rows, from the first step on, has a KL that equal models cannot have."""
    kl = rows.series("kl_mean")
    seen = rows.observations("kl_mean")
    unit = rows.smooth("completion_tokens_mean") if rows.metadata("kl_mean").per == "sequence" else 1.0
    apart = kl.values > rows.limit("start") * unit
    early = kl.fresh & (seen == 1) & (rows.steps <= FIRST_STEP)
    from_start = rows.ever("from the start", early & apart)
    near = rows.ever("near", kl.fresh & (seen <= rows.limit("rows")) & ~apart)
    # A distillation's teacher is meant to be another model.
    meant = "teacher" in rows.metadata("kl_mean").note
    wrong = from_start & ~near & (seen >= rows.limit("rows")) & (not meant)
    still = wrong & (rows.smooth("kl_mean") > rows.limit("start") * unit)
    return Judgement(fires=still, log_evidence=rows.exact(still), since=where(rows.every, 0, -1))
