"""Samples come from policies too old for the correction in use."""

import numpy as np

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold

SIGNATURE = Signature(
    id="STALENESS",
    stage="infrastructure",
    severity="warning",
    arm="level",
    requires=("staleness_mean|staleness_max",),
    helps=("effective_sample_fraction", "sampler_logprob_difference_mean", "sampler_kl_mean"),
    shows=("staleness_mean", "staleness_max", "effective_sample_fraction", "sampler_logprob_difference_mean"),
    thresholds=(
        Threshold(
            "old", 4.0, "updates",
            "older samples need a witness that the policy has moved on; a fixed lag of up to 8 with correction is in use", 0,
        ),
        Threshold("ancient", 32.0, "updates", "no correction in use has been shown to bear more with confidence"),
        Threshold(
            "effective", 0.8, "fraction of the samples",
            "below it the importance weights leave too few samples; it is 0.95 and more on fresh ones", 0, 1,
        ),
        Threshold(
            "difference", 0.15, "nats/token",
            "mean difference between the sampler's and the trainer's log-probs; 0.01 to 0.02 is normal on fresh samples",
        ),
        Threshold("kl", 0.1, "nats/token", "divergence between sampler and policy; 0.001 is normal on fresh samples"),
    ),
    title="Samples come from policies that are too old",
    explanation="Samples are {lag} updates old, and the policy has moved on: it is off-policy by more than the correction bears.",
    record="Log the number of updates between the policy that generated a sample and the one that trains on it as staleness_mean.",
    remedies=(
        Advice(text="Cap the age of samples: let the trainer wait, or drop what is older."),
        Advice(text="Turn on the importance correction between sampler and trainer, truncated per token.", setting="sampler_correction", suggested="true"),
        Advice(text="Lower the learning rate, so that a lag of so many updates moves the policy less.", setting="learning_rate", scale=0.3),
        Advice(text="Take fewer optimizer passes over a rollout.", setting="updates_per_rollout", suggested="1", only_above=1),
    ),
    aliases=("STALENESS_OFFPOLICY",),
)  # fmt: skip


def judge(rows: Rows) -> Judgement:
    """Fires when samples are old and something shows that it matters, or when they are older than anything bears."""
    mean, largest = rows.series("staleness_mean"), rows.series("staleness_max")
    known = ~np.isnan(mean.values)
    lag = np.where(known, mean.values, largest.values)
    fresh = np.where(known, mean.fresh, largest.fresh)
    witness = (
        (rows.smooth("effective_sample_fraction") < rows.limit("effective"))
        | (rows.smooth("sampler_logprob_difference_mean") > rows.limit("difference"))
        | (rows.smooth("sampler_kl_mean") > rows.limit("kl"))
    )
    too_old = ((lag > rows.limit("old")) & witness) | (lag > rows.limit("ancient"))
    evidence = rows.level("too old", too_old, fresh)
    level = rows.recent_median("lag", lag, fresh, width=5)
    now = ((level > rows.limit("old")) & witness) | (level > rows.limit("ancient"))
    return Judgement(fires=(evidence >= rows.alarm) & now, holds=now, log_evidence=evidence, facts={"lag": level})
